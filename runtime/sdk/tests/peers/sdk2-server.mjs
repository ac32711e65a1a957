// A server of the second SDK version on standard input and output, for legacy and modern revisions. It has the tools of the
// example server.
import { ProtocolError, ProtocolErrorCode, Server, inputRequired } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const text = (text) => ({ content: [{ type: "text", text: String(text) }] });

serveStdio(() => {
  const server = new Server(
    { name: "sdk2", version: "1" },
    { capabilities: { tools: { listChanged: true }, logging: {} } },
  );
  server.setRequestHandler("tools/list", () => ({
    tools: ["echo", "add", "ask", "wait", "touch"].map((name) => ({ name, inputSchema: { type: "object" } })),
  }));
  server.setRequestHandler("tools/call", async (request, { mcpReq }) => {
    const { name, arguments: input } = request.params;
    await mcpReq.log("info", `${name} is called`);
    switch (name) {
      case "echo":
        return text(input.message);
      case "add":
        return text(input.a + input.b);
      case "ask": {
        const content = { type: "text", text: input.question };
        const params = { messages: [{ role: "user", content }], maxTokens: 10 };
        const modern = mcpReq.envelope !== undefined;
        const sample = modern ? mcpReq.inputResponses?.sample : await mcpReq.requestSampling(params);
        return sample === undefined
          ? inputRequired({ inputRequests: { sample: inputRequired.createMessage(params) } })
          : text(`${sample.model} says: ${sample.content.text}`);
      }
      case "wait":
        for (let step = 1; step <= input.steps; step += 1) {
          const params = { progressToken: mcpReq._meta.progressToken, progress: step, total: input.steps };
          await mcpReq.notify({ method: "notifications/progress", params });
          // The clients of the SDK drop a report that arrives together with the next message.
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        return text("done");
      case "touch":
        await server.sendToolListChanged();
        return text("touched");
      default:
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `unknown tool ${name}`);
    }
  });
  return server;
});
