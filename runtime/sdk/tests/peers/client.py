"""A client of the Python SDK: `python client.py legacy|modern URL|COMMAND [ARGUMENT..]`. Prints each step as JSON."""

import asyncio
import json
import sys

from mcp import types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError


def print_step(step, value):
    print(json.dumps({"step": step, "value": value}, separators=(",", ":")), flush=True)


async def main(protocol, command, *args):
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
        mode="legacy" if protocol == "legacy" else "auto",
        sampling_callback=sample,
        logging_callback=log,
        log_level="info",
        message_handler=message,
        cache=None,
    ) as client:
        print_step("revision", client.protocol_version)
        print_step("server", client.server_info.name)
        tools = [tool.name for tool in (await client.list_tools()).tools]
        print_step("tools", tools)

        async def call(name, arguments, **options):
            return (await client.call_tool(name, arguments, **options)).content[0].text

        print_step("echo", await call("echo", {"message": "hello"}))
        print_step("add", await call("add", {"a": 2, "b": 3}))
        print_step("ask", await call("ask", {"question": "?"}))
        reports = []

        async def report(progress, total, message):
            reports.append(progress)

        await call("wait", {"steps": 3}, progress_callback=report)
        print_step("progress", reports[:2])
        pending = asyncio.create_task(call("wait", {"steps": 100000}, progress_callback=report))
        await asyncio.sleep(0.05)
        pending.cancel()
        print_step("cancelled", "cancelled" if (await asyncio.wait([pending]))[0] and pending.cancelled() else "completed")
        try:
            await call("nothing", {})
        except MCPError as error:
            print_step("unknown tool", {"code": error.error.code})
        print_step("logs", len(logs) > 0)
        if "touch" not in tools:
            pass
        elif protocol == "modern":
            async with client.listen(tools_list_changed=True) as subscription:
                await call("touch", {})
                async for event in subscription:
                    print_step("changed", type(event).__name__)
                    break
        else:
            await call("touch", {})
            await asyncio.wait_for(changed.wait(), 5)
            print_step("changed", "ToolListChangedNotification")
        sums = await asyncio.gather(*[call("add", {"a": n, "b": 1}) for n in range(200)])
        print_step("many", sums == [str(n + 1) for n in range(200)])


asyncio.run(main(*sys.argv[1:]))
