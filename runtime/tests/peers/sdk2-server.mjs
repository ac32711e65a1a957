// A server of the SDK's second version on standard input and output, of either era, with the tools of the example server.
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
    const { name, arguments: given } = request.params;
    await mcpReq.log("info", `${name} is called`);
    switch (name) {
      case "echo":
        return text(given.message);
      case "add":
        return text(given.a + given.b);
      case "ask": {
        const content = { type: "text", text: given.question };
        const params = { messages: [{ role: "user", content }], maxTokens: 10 };
        const modern = mcpReq.envelope !== undefined;
        const answer = modern ? mcpReq.inputResponses?.answer : await mcpReq.requestSampling(params);
        return answer === undefined
          ? inputRequired({ inputRequests: { answer: inputRequired.createMessage(params) } })
          : text(`${answer.model} says: ${answer.content.text}`);
      }
      case "wait":
        for (let step = 1; step <= given.steps; step += 1) {
          const params = { progressToken: mcpReq._meta.progressToken, progress: step, total: given.steps };
          await mcpReq.notify({ method: "notifications/progress", params });
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
