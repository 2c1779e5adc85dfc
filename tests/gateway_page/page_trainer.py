"""A program that serves its flags; it runs each line of stdin, and answers with a line."""

import sys
import threading
import wsgiref.simple_server
import wsgiref.util
from pathlib import Path

import paddle_flags as pf

_, where, extra, *arguments = sys.argv
sys.argv = [Path(__file__).stem, *arguments]

HOSTILE = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'

pf.define("learning_rate", 0.001, "Step size of the optimizer", min=0.0, max=1.0,
          category="Training", runtime=True)  # fmt: skip
pf.define("batch_size", 64, "Samples of one step", min=1, max=4096, type="int32",
          category="Training", runtime=True)  # fmt: skip
pf.define("mode", "fast", "How to search for kernels", choices=["fast", "best", "off"],
          category="Training", runtime=True)  # fmt: skip
pf.define("seed", 18446744073709551615, "Seed of the generator", type="uint64",
          category="Training", runtime=True)  # fmt: skip
pf.define("max_steps", None, "Stop after that many steps", type=int,
          category="Training", runtime=True)  # fmt: skip
pf.define("check_nan", False, "Check every tensor for NaN", category="Debugging", runtime=True)
log_every = pf.define("log_every", 50, "Steps between two lines of the log", category="Debugging",
                      runtime=True)  # fmt: skip
pf.define("cache_size", 64 << 20, "Size of the cache of decoded samples", unit="bytes", min=4096,
          category="Input", runtime=True)  # fmt: skip
pf.define("timeout", 1.5, "How long to wait for a shard", unit="seconds", category="Input",
          runtime=True)  # fmt: skip
pf.define("shards", ["train-00", "train-01"], "Shards to read", category="Input", runtime=True)
pf.define("workers", 8, "Processes that read", startup_only=True, category="Input")
pf.define("allocator", "pool", "Allocator of device memory", choices=["pool", "system"],
          category="Memory", runtime=True, unsafe=True)  # fmt: skip
pf.define("endpoint", "http://ps-0:8800", "Parameter server", category="Servers")
pf.define("token", "hunter2-of-the-server", "Token of the parameter server", sensitive=True,
          category="Servers", runtime=True)  # fmt: skip
pf.define("inner", 1, "Not for everyone", hidden=True)
pf.define("greeting", HOSTILE, HOSTILE, category=HOSTILE, runtime=True)


@pf.validator("batch_size", message="expected a multiple of 8")
def check_batch(value):
    return value % 8 == 0


for number in range(int(extra)):
    pf.define(f"extra_{number:05}", number, "An extra flag", category=f"Extra {number // 500}")
pf.parse()


def serve_by_wsgi():
    """Serve as an application of a web framework does, which answers one request at a time."""
    from a2wsgi import ASGIMiddleware

    app = ASGIMiddleware(pf.live.asgi(authorize=lambda _: "change", polls=True))

    def mounted(environ, start_response):
        wsgiref.util.shift_path_info(environ)
        return app(environ, start_response)

    server = wsgiref.simple_server.make_server("127.0.0.1", 0, mounted, handler_class=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/mounted/"


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


if where == "wsgi":
    address = serve_by_wsgi()
else:
    server = pf.serve(where)
    address = server.address
print(address, flush=True)
for line in sys.stdin:
    exec(line)  # noqa: S102 - written by the test
    print("done", flush=True)
