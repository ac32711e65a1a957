"""A client of the Python SDK for the example `tools`: `python tools.py legacy|modern COMMAND [ARGUMENT..]`."""

import asyncio
import json
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError


def print_step(step, value):
    print(json.dumps({"step": step, "value": value}, separators=(",", ":")), flush=True)


async def main(protocol, command, *args):
    server = StdioServerParameters(command=command, args=list(args))
    async with Client(server, mode="legacy" if protocol == "legacy" else "auto") as client:
        print_step("revision", client.protocol_version)
        tools = (await client.list_tools()).tools
        print_step("tools", [f"{tool.name}: {','.join(tool.input_schema['properties'])}" for tool in tools])
        print_step("echo", (await client.call_tool("echo", {"message": "hello"})).content[0].text)
        print_step("add", (await client.call_tool("add", {"a": 2, "b": 3})).content[0].text)
        wrong = await client.call_tool("add", {"a": 2, "b": "three"})
        print_step("wrong", [wrong.is_error, "b" in wrong.content[0].text])
        try:
            await client.call_tool("nothing", {})
        except MCPError as error:
            print_step("unknown tool", error.error.code)


asyncio.run(main(*sys.argv[1:]))
