// A client of the first SDK version: `node sdk1-client.mjs URL|COMMAND [ARGUMENT..]`. Prints each step as a line of JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  EmptyResultSchema,
  LoggingMessageNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const printStep = (step, value) => console.log(JSON.stringify({ step, value }));
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

printStep("server", client.getServerVersion());
printStep("ping", await client.ping());
printStep("tools", (await client.listTools()).tools.map((tool) => tool.name));
const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
printStep("echo", (await call("echo", { message: "hello" })).content);
printStep("add", (await call("add", { a: 2, b: 3 })).content);
printStep("ask", (await call("ask", { question: "?" })).content);

const reports = [];
await call("wait", { steps: 3 }, { onprogress: (report) => reports.push(report.progress) });
printStep("progress", reports);

const stop = new AbortController();
const pending = call("wait", { steps: 100000 }, { signal: stop.signal, onprogress: () => stop.abort("enough") });
printStep("cancelled", await pending.then(() => "completed", () => "cancelled"));

printStep("unknown tool", await call("nothing", {}).catch(failure));
const raw = (method, params) => client.request({ method, params }, EmptyResultSchema).catch(failure);
printStep("unknown method", await raw("no/such"));
printStep("bad params", await raw("tools/call", { name: 5 }));
printStep("not declared", await raw("prompts/list").catch(failure));

const before = logs;
await client.setLoggingLevel("error");
await call("echo", { message: "quiet" });
printStep("logs", { before: before > 0, after: logs - before });

if (client.getServerCapabilities().tasks) {
  const statuses = [];
  for await (const message of client.experimental.tasks.callToolStream(
    { name: "wait", arguments: { steps: 3 } },
    CallToolResultSchema,
    { task: { ttl: 60000 } },
  )) {
    statuses.push(message.type === "result" ? message.result.content[0].text : message.type);
  }
  printStep("task", [statuses[0], statuses.at(-1)]);
  const listed = (await client.experimental.tasks.listTasks()).tasks;
  printStep("tasks", listed.map((task) => task.status));
}

// Concurrent calls: each receives its own result.
const sums = await Promise.all([...Array(200).keys()].map((n) => call("add", { a: n, b: 1 })));
printStep("many", sums.every((result, n) => result.content[0].text === String(n + 1)));
await transport.terminateSession?.();
await client.close();
