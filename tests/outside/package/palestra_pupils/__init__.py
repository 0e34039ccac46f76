"""Two small challenges about pupils: pupil-size-v1 takes files, pupil-light-v1 is played live."""
