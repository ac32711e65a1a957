"""A FastMCP proxy: `fastmcp_proxy.py stdio|PORT URL|COMMAND [ARGUMENT..]`, or with a JSON configuration instead of the URL."""

import json
import sys

from fastmcp.server import create_proxy

front, target, *arguments = sys.argv[1:]
if target.startswith("{"):
    target = json.loads(target)
elif not target.startswith("http"):
    target = {"mcpServers": {"server": {"command": target, "args": arguments}}}
proxy = create_proxy(target)
if front == "stdio":
    proxy.run(show_banner=False)
else:
    proxy.run(transport="http", host="127.0.0.1", port=int(front), show_banner=False)
