"""Reference solutions, listed. Each is named by the module that holds it, which is imported when it is run.

May be touched freely; a changed answer changes the numbers that docs publish.
"""

from palestra.records import Solution

SOLUTIONS = (
    Solution(
        track="emotion-eeg-v1",
        name="entropy",
        title="differential entropy, running normalisation, linear model",
        learns=f"{__name__}.learner:Entropies",
        plays=f"{__name__}.entropy:Linear",
        weights="emotion_linear.npz",
    ),
    Solution(
        track="emotion-eeg-v1",
        name="evidence",
        title="the linear model, with evidence carried over a video whose borders are inferred",
        plays=f"{__name__}.evidence:Evidence",
        weights="emotion_linear.npz",
    ),
    Solution(
        track="emotion-eeg-v1",
        name="network",
        title="a small recurrent network on the same features",
        plays=f"{__name__}.network:Network",
        weights="emotion_network.onnx",
    ),
)
