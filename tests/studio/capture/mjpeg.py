"""A camera on the network, as cheap ones are: JPEG after JPEG in one answer that never ends. It can be unplugged."""

import http.server
import threading
import time

import cv2
import numpy as np

BOUNDARY = b"picture"


class MjpegCamera:
    """Serves grey pictures whose level counts up, until it is cut."""

    def __init__(self, port=0, rate_hz=50.0, size=(64, 48)):
        self.plugged = threading.Event()
        self.plugged.set()
        self.rate_hz, self.size = rate_hz, size
        camera = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_GET(self):
                if not camera.plugged.is_set():
                    self.send_error(503)
                    return
                self.send_response(200)
                self.send_header("Content-Type", f"multipart/x-mixed-replace; boundary={BOUNDARY.decode()}")
                self.end_headers()
                number = 0
                try:
                    while camera.plugged.is_set():
                        self.wfile.write(camera.part(number))
                        number += 1
                        time.sleep(1 / camera.rate_hz)
                except OSError:
                    pass  # whoever watched has gone

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}/stream.mjpg"

    def part(self, number):
        width, height = self.size
        picture = np.full((height, width, 3), 40 + number % 150, np.uint8)
        data = cv2.imencode(".jpg", picture)[1].tobytes()
        head = b"--%s\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % (BOUNDARY, len(data))
        return head + data + b"\r\n"

    def close(self):
        self.plugged.clear()
        self.server.shutdown()
        self.server.server_close()
