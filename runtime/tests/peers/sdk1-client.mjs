// A client of the SDK's: `node sdk1-client.mjs URL|COMMAND [ARGUMENT..]`. Prints what it learns as JSON, a line each.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  EmptyResultSchema,
  LoggingMessageNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const say = (step, value) => console.log(JSON.stringify({ step, value }));
const failure = (error) => ({ code: error.code, data: error.data });

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "sdk", version: "1" }, { capabilities: { sampling: {} } });
let logs = 0;
client.setNotificationHandler(LoggingMessageNotificationSchema, () => {
  logs += 1;
});
client.setRequestHandler(CreateMessageRequestSchema, (request) => ({
  model: "sdk-model",
  role: "assistant",
  content: { type: "text", text: `${request.params.messages.length} read` },
}));
const transport = command.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args });
await client.connect(transport);

say("server", client.getServerVersion());
say("ping", await client.ping());
say("tools", (await client.listTools()).tools.map((tool) => tool.name));
const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
say("echo", (await call("echo", { message: "hello" })).content);
say("add", (await call("add", { a: 2, b: 3 })).content);
say("ask", (await call("ask", { question: "?" })).content);

const reports = [];
await call("wait", { steps: 3 }, { onprogress: (report) => reports.push(report.progress) });
say("progress", reports);

const stop = new AbortController();
const hanging = call("wait", { steps: 100000 }, { signal: stop.signal, onprogress: () => stop.abort("enough") });
say("cancelled", await hanging.then(() => "answered", () => "given up"));

say("unknown tool", await call("nothing", {}).catch(failure));
const raw = (method, params) => client.request({ method, params }, EmptyResultSchema).catch(failure);
say("unknown method", await raw("no/such"));
say("bad params", await raw("tools/call", { name: 5 }));
say("not declared", await raw("prompts/list").catch(failure));

const before = logs;
await client.setLoggingLevel("error");
await call("echo", { message: "quiet" });
say("logs", { before: before > 0, after: logs - before });

const statuses = [];
for await (const message of client.experimental.tasks.callToolStream(
  { name: "wait", arguments: { steps: 3 } },
  CallToolResultSchema,
  { task: { ttl: 60000 } },
)) {
  statuses.push(message.type === "result" ? message.result.content[0].text : message.type);
}
say("task", [statuses[0], statuses.at(-1)]);
const listed = (await client.experimental.tasks.listTasks()).tasks;
say("tasks", listed.map((task) => task.status));

// Many at once: each gets its own answer.
const sums = await Promise.all([...Array(200).keys()].map((n) => call("add", { a: n, b: 1 })));
say("many", sums.every((result, n) => result.content[0].text === String(n + 1)));
await transport.terminateSession?.();
await client.close();
