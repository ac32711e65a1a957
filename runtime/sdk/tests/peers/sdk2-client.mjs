// A client of the second SDK version: `node sdk2-client.mjs legacy|modern URL|COMMAND [ARGUMENT..]`. Prints each step as
// a line of JSON.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const printStep = (step, value) => console.log(JSON.stringify({ step, value }));
const failure = (error) => ({ code: error.code });

const [protocol, command, ...args] = process.argv.slice(2);
let logs = 0;
let changed;
const change = new Promise((resolve) => {
  changed = resolve;
});
const client = new Client(
  { name: "sdk2", version: "1" },
  {
    capabilities: { sampling: {} },
    versionNegotiation: { mode: protocol === "legacy" ? "legacy" : "auto" },
  },
);
client.setNotificationHandler("notifications/message", () => {
  logs += 1;
});
client.setNotificationHandler("notifications/tools/list_changed", () => changed("tools"));
client.setRequestHandler("sampling/createMessage", (request) => ({
  model: "sdk2-model",
  role: "assistant",
  content: { type: "text", text: `${request.params.messages.length} read` },
}));
const transport = command.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args });
await client.connect(transport);

printStep("revision", client.getNegotiatedProtocolVersion());
printStep("server", client.getServerVersion());
const tools = (await client.listTools()).tools.map((tool) => tool.name);
printStep("tools", tools);
const call = (name, args, options) => client.callTool({ name, arguments: args }, options);
printStep("echo", (await call("echo", { message: "hello" })).content[0].text);
printStep("add", (await call("add", { a: 2, b: 3 })).content[0].text);
printStep("ask", (await call("ask", { question: "?" })).content[0].text);

const reports = [];
await call("wait", { steps: 3 }, { onprogress: (report) => reports.push(report.progress) });
printStep("progress", reports.slice(0, 2));

const stop = new AbortController();
const pending = call("wait", { steps: 100000 }, { signal: stop.signal, onprogress: () => stop.abort("enough") });
printStep("cancelled", await pending.then(() => "completed", () => "cancelled"));

printStep("unknown tool", await call("nothing", {}).catch(failure));

const level = { "io.modelcontextprotocol/logLevel": "info" };
await client.callTool({ name: "echo", arguments: { message: "loud" }, _meta: level });
printStep("logs", logs > 0);

if (tools.includes("touch")) {
  if (protocol === "modern") {
    const subscription = await client.listen({ toolsListChanged: true });
    await call("touch", {});
    printStep("changed", await change);
    await subscription.close();
    printStep("subscription", await subscription.closed);
  } else {
    await call("touch", {});
    printStep("changed", await change);
  }
}

const sums = await Promise.all([...Array(200).keys()].map((n) => call("add", { a: n, b: 1 })));
printStep("many", sums.every((result, n) => result.content[0].text === String(n + 1)));
await client.close();
