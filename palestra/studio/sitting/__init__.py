"""A sitting with a person, who is shown stimuli and recorded while entrants play.

May be touched freely, but for captures/capture.toml, which organisers have written.
"""
