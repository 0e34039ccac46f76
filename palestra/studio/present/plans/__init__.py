"""From a stimulus file to a plan: every event of a run with its time and place, before anything is shown."""
