"""The words of the page, in both languages. What stands in double braces is filled in by the page."""

from typing import Any

from palestra.text import Words, say


def page_words(language: str) -> dict[str, Any]:
    """All that the page says, in one language."""
    words = {**_run(), **_trouble(), **_forms(), "kinds": _kinds(), "sliders": _sliders(), "ends": _ends()}
    return {name: _in_language(one, language) for name, one in words.items()}


def _in_language(value: Any, language: str) -> Any:
    if isinstance(value, Words):
        return value.in_language(language)
    if isinstance(value, dict):
        return {name: _in_language(one, language) for name, one in value.items()}
    return [_in_language(one, language) for one in value]


def _run() -> dict[str, Words]:
    return {
        "title": say("Recording"),
        "again_title": say("The recording goes on"),
        "welcome": say(
            "Sit comfortably and keep your distance from the screen. Press the space bar to pause at any time."
        ),
        "screen": say("Screen: {{width_mm}} × {{height_mm}} mm, {{distance_mm}} mm from the eyes"),
        "full_screen": say("Full screen"),
        "measuring": say("Measuring the display’s frames …"),
        "begin": say("Begin"),
        "block_of": say("Part {{i}} of {{count}}"),
        "keys": say("space bar: pause; Escape: end"),
        "go_on": say("Go on"),
        "end": say("End the recording …"),
        "end_now": say("End it"),
        "end_title": say("End the recording?"),
        "end_text": say("What was recorded is kept. It can go on later."),
        "paused_title": say("Paused"),
        "paused_text": say("Take your time. The space bar goes on."),
        "hidden_text": say("The page was hidden, so the recording has paused."),
        "finished_title": say("Thank you"),
        "finished_text": say("The recording is complete. You may close this window."),
        "aborted_title": say("The recording was ended"),
        "aborted_text": say("What was recorded is kept. The same command goes on with it. You may close this window."),
        "dropped": say("Frames dropped: {{count}}"),
        "seconds": say("{{count}} s"),
        "minutes": say("{{count}} min"),
    }


def _trouble() -> dict[str, Words]:
    return {
        "lost": say("The server does not answer. Reports are kept here and sent as soon as it does."),
        "replaced": say("Another window has taken over this recording. Close this one."),
        "other": say("This page belongs to another recording. Reload it."),
        "trouble_title": say("Please call whoever runs the recording"),
        "film_trouble": say("Film {{number}} does not play ({{why}}). Browsers play MP4 with H.264 and WebM."),
        "warn_aspect": say(
            "The window, {{wide}} × {{high}} pixels, has another shape than the screen of {{width_mm}} × {{height_mm}} "
            "mm: circles will not be round. Check [screen] in the file."
        ),
        "warn_pixels": say(
            "The window has {{wide}} × {{high}} pixels, the file says {{width_px}} × {{height_px}}: "
            "is this the right screen?"
        ),
        "warn_window": say("The page does not fill the screen, so millimetres are not true."),
    }


def _forms() -> dict[str, Words]:
    return {
        "report_title": say("How did the film make you feel?"),
        "report_text": say("Move every slider. If its middle is right, click it once."),
        "done": say("Done"),
        "rest_title": say("Rest"),
        "rest_text": say("Close your eyes if you like, and let your feelings settle."),
        "rest_over": say("Go on when you are ready."),
        "sums_title": say("A few sums"),
        "sum_of": say("{{i}} of {{count}}"),
        "sum_help": say("a whole number"),
        "next": say("Next"),
    }


def _kinds() -> dict[str, dict[str, Words]]:
    return {
        "targets": {"title": say("Jumping target"), "text": say("Look at the dot. It jumps from place to place.")},
        "curve": {"title": say("Moving target"), "text": say("Follow the dot with your eyes.")},
        "pursuit": {
            "title": say("Ring"),
            "text": say("Look at the dot while it stands, and follow it as it moves on."),
        },
        "saccades": {"title": say("Quick jumps"), "text": say("Look at the dot. Follow each jump as fast as you can.")},
        "points": {"title": say("Points"), "text": say("Look at each dot until it goes out, and try not to blink.")},
        "emotion": {
            "title": say("Films"),
            "text": say("Look at the cross, then watch the film. Afterwards you say how you felt, and rest."),
        },
    }


def _sliders() -> dict[str, Words]:
    return {
        "anger": say("Anger"),
        "disgust": say("Disgust"),
        "fear": say("Fear"),
        "sadness": say("Sadness"),
        "amusement": say("Amusement"),
        "inspiration": say("Inspiration"),
        "joy": say("Joy"),
        "tenderness": say("Tenderness"),
        "valence": say("How pleasant it was"),
        "arousal": say("How stirred you were"),
        "liking": say("How you liked it"),
        "familiarity": say("How well you knew it"),
    }


def _ends() -> dict[str, list[Words]]:
    """What the two ends of a slider mean."""
    return {
        "any": [say("not at all"), say("very much")],
        "valence": [say("unpleasant"), say("pleasant")],
        "arousal": [say("calm"), say("excited")],
    }
