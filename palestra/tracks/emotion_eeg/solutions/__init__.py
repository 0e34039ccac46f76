"""Reference solutions, listed. Each is named by the module that holds it, which is imported when it is run.

May be touched freely; a changed answer changes the numbers that docs publish.
"""

from functools import partial

from palestra.records import Solution

_solution = partial(Solution, "emotion-eeg-v1")
SOLUTIONS = (
    _solution("entropy", "differential entropy, running normalisation, linear model", weights="emotion_linear.npz",
              learns=f"{__name__}.learner:Entropies", plays=f"{__name__}.entropy:Linear"),
    _solution("evidence", "the linear model, with evidence carried over a video whose borders are inferred",
              weights="emotion_linear.npz", plays=f"{__name__}.evidence:Evidence"),
    _solution("network", "a small recurrent network on the same features", weights="emotion_network.onnx",
              plays=f"{__name__}.network:Network"),
)  # fmt: skip
