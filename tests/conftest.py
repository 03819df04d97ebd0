"""Settings of every test run."""

from hypothesis import settings

# Compiling and simplifying make single examples slow by chance, which is no failure.
settings.register_profile("metricfit", deadline=None, max_examples=50, print_blob=True)
settings.load_profile("metricfit")
