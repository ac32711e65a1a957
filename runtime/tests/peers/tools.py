"""A client of the Python SDK for the example of two tools: `python tools.py legacy|modern COMMAND [ARGUMENT..]`."""

import asyncio
import json
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError


def say(step, value):
    print(json.dumps({"step": step, "value": value}, separators=(",", ":")), flush=True)


async def main(era, command, *args):
    server = StdioServerParameters(command=command, args=list(args))
    async with Client(server, mode="legacy" if era == "legacy" else "auto") as client:
        say("revision", client.protocol_version)
        tools = (await client.list_tools()).tools
        say("tools", [f"{tool.name}: {','.join(tool.input_schema['properties'])}" for tool in tools])
        say("echo", (await client.call_tool("echo", {"message": "hello"})).content[0].text)
        say("add", (await client.call_tool("add", {"a": 2, "b": 3})).content[0].text)
        wrong = await client.call_tool("add", {"a": 2, "b": "three"})
        say("wrong", [wrong.is_error, "b" in wrong.content[0].text])
        try:
            await client.call_tool("nothing", {})
        except MCPError as error:
            say("unknown tool", error.error.code)


asyncio.run(main(*sys.argv[1:]))
