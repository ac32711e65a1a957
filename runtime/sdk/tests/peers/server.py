"""A server of the Python SDK for legacy and modern revisions, with the tools of the example server.

Serves standard input and output, or HTTP if PORT is set.
"""

import asyncio
import os

import uvicorn
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError

TOOLS = ["echo", "add", "ask", "wait", "touch"]
bus = InMemorySubscriptionBus()


def text(text):
    return types.CallToolResult(content=[types.TextContent(type="text", text=str(text))])


async def list_tools(_, __):
    return types.ListToolsResult(tools=[types.Tool(name=name, input_schema={"type": "object"}) for name in TOOLS])


async def call_tool(context, params):
    input = params.arguments or {}
    modern = context.protocol_version >= "2026"
    await context.session.send_log_message(
        level="info", data=f"{params.name} is called", related_request_id=context.request_id
    )
    match params.name:
        case "echo":
            return text(input["message"])
        case "add":
            return text(input["a"] + input["b"])
        case "ask":
            content = types.TextContent(type="text", text=input["question"])
            messages = [types.SamplingMessage(role="user", content=content)]
            if modern:
                sample = (params.input_responses or {}).get("sample")
                if sample is None:
                    request = types.CreateMessageRequest(
                        params=types.CreateMessageRequestParams(messages=messages, max_tokens=10)
                    )
                    return types.InputRequiredResult(input_requests={"sample": request})
            else:
                sample = await context.session.create_message(messages=messages, max_tokens=10)
            return text(f"{sample.model} says: {sample.content.text}")
        case "wait":
            for step in range(1, input["steps"] + 1):
                await context.session.send_progress_notification(
                    context.meta["progress_token"], step, input["steps"], related_request_id=context.request_id
                )
                # The clients of the TypeScript SDK drop a report that arrives together with the next message.
                await asyncio.sleep(0.02)
            return text("done")
        case "touch":
            await bus.publish(ToolsListChanged())
            return text("touched")
        case name:
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {name}")


async def set_level(_, __):
    return types.EmptyResult()


async def main():
    server = Server(
        "py",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_set_logging_level=set_level,
        on_subscriptions_listen=ListenHandler(bus),
    )
    if port := os.environ.get("PORT"):
        config = uvicorn.Config(server.streamable_http_app(), port=int(port), log_level="error")
        await uvicorn.Server(config).serve()
        return
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


asyncio.run(main())
