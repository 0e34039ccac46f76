class MyAlgorithm:
    """A program as contestants write it: it is given what comes, and asked for an answer."""

    def get_data(self, samples):
        self.samples = samples

    def algorithm(self):
        return int(self.samples.max() > 0.4)
