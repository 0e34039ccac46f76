"""What the eye challenges and `palestra annotate` share: a simulated eye, a network that reads eyes, pupils, people.

Changes published numbers: synthetic data, weights and solutions stand on it. Empty: parts run with numpy alone.
"""
