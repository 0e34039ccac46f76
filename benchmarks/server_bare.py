"""A bare Litestar route that answers with given bytes: what a board's JSON is compared with."""

import sys
from pathlib import Path

import uvicorn
from litestar import Litestar, MediaType, Response, get


def main() -> None:
    body, port = Path(sys.argv[1]).read_bytes(), int(sys.argv[2])

    @get("/board", sync_to_thread=False)
    def board() -> Response[bytes]:
        return Response(body, media_type=MediaType.JSON)

    @get("/health", sync_to_thread=False)
    def health() -> str:
        return "ok"

    app = Litestar([board, health], openapi_config=None, logging_config=None)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)


if __name__ == "__main__":
    main()
