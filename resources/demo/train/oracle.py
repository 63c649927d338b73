"""The GGUF reader and writer (G) and the reference generator (O) of tests/fixtures/oracle."""
import os
import sys

sys.path.append(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "tests", "fixtures",
                 "oracle"))
import gguf_write as G  # noqa: E402


def __getattr__(name):  # make_oracle needs transformers: only where it is used
    if name == "O":
        import make_oracle
        return make_oracle
    raise AttributeError(name)
