// A server of the first SDK version on standard input and output, with the tools of the example server.
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js";

const tasks = { requests: { tools: { call: {} } } };
const server = new Server(
  { name: "sdk", version: "1" },
  { capabilities: { tools: {}, logging: {}, tasks }, taskStore: new InMemoryTaskStore() },
);
const text = (text) => ({ content: [{ type: "text", text: String(text) }] });

server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: ["echo", "add", "ask", "wait"].map((name) => ({ name, inputSchema: { type: "object" } })),
}));
server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
  const { name, arguments: input, task: taskParams } = request.params;
  if (taskParams !== undefined) {
    const task = await extra.taskStore.createTask({ ttl: taskParams.ttl });
    setTimeout(() => extra.taskStore.storeTaskResult(task.taskId, "completed", text("done")), 10);
    return { task };
  }
  await server.sendLoggingMessage({ level: "info", data: `${name} is called` });
  switch (name) {
    case "echo":
      return text(input.message);
    case "add":
      return text(input.a + input.b);
    case "ask": {
      const content = { type: "text", text: input.question };
      const sample = await server.createMessage({ messages: [{ role: "user", content }], maxTokens: 10 });
      return text(`${sample.model} says: ${sample.content.text}`);
    }
    case "wait":
      for (let step = 1; step <= input.steps; step += 1) {
        const params = { progressToken: request.params._meta.progressToken, progress: step, total: input.steps };
        await extra.sendNotification({ method: "notifications/progress", params });
        // The clients of the SDK drop a report that arrives together with the next message.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return text("done");
    default:
      throw new McpError(ErrorCode.InvalidParams, `unknown tool ${name}`);
  }
});
await server.connect(new StdioServerTransport());
