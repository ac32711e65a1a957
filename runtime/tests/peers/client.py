"""A client of the Python SDK: `python client.py legacy|modern URL|COMMAND [ARGUMENT..]`. Prints what it learns as JSON."""

import asyncio
import json
import sys

from mcp import types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError


def say(step, value):
    print(json.dumps({"step": step, "value": value}, separators=(",", ":")), flush=True)


async def main(era, command, *args):
    logs = []
    changed = asyncio.Event()

    async def sample(_, params):
        content = types.TextContent(type="text", text=f"{len(params.messages)} read")
        return types.CreateMessageResult(model="py-model", role="assistant", content=content)

    async def log(params):
        logs.append(params)

    async def message(message):
        if isinstance(message, types.ToolListChangedNotification):
            changed.set()

    async with Client(
        command if command.startswith("http") else StdioServerParameters(command=command, args=list(args)),
        mode="legacy" if era == "legacy" else "auto",
        sampling_callback=sample,
        logging_callback=log,
        log_level="info",
        message_handler=message,
        cache=None,
    ) as client:
        say("revision", client.protocol_version)
        say("server", client.server_info.name)
        say("tools", [tool.name for tool in (await client.list_tools()).tools])

        async def call(name, arguments, **options):
            return (await client.call_tool(name, arguments, **options)).content[0].text

        say("echo", await call("echo", {"message": "hello"}))
        say("add", await call("add", {"a": 2, "b": 3}))
        say("ask", await call("ask", {"question": "?"}))
        reports = []

        async def report(progress, total, message):
            reports.append(progress)

        await call("wait", {"steps": 3}, progress_callback=report)
        say("progress", reports[:2])
        hanging = asyncio.create_task(call("wait", {"steps": 100000}))
        await asyncio.sleep(0.05)
        hanging.cancel()
        say("cancelled", "given up" if (await asyncio.wait([hanging]))[0] and hanging.cancelled() else "answered")
        try:
            await call("nothing", {})
        except MCPError as error:
            say("unknown tool", {"code": error.error.code})
        say("logs", len(logs) > 0)
        if era == "modern":
            async with client.listen(tools_list_changed=True) as subscription:
                await call("touch", {})
                async for event in subscription:
                    say("changed", type(event).__name__)
                    break
        else:
            await call("touch", {})
            await asyncio.wait_for(changed.wait(), 5)
            say("changed", "ToolListChangedNotification")
        sums = await asyncio.gather(*[call("add", {"a": n, "b": 1}) for n in range(200)])
        say("many", sums == [str(n + 1) for n in range(200)])


asyncio.run(main(*sys.argv[1:]))
