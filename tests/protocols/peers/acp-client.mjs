// An ACP client, which drives the agent on its standard input and output. Reports on standard error what happens.
import { Readable, Writable } from "node:stream";

import * as acp from "@agentclientprotocol/sdk";

const report = (step, value) => console.error(JSON.stringify({ step, value }));
const updates = [];
let received = () => {};
const prompt = (text) => ({ sessionId: "s1", prompt: [{ type: "text", text }] });
const { agent, client } = acp.methods;
const failure = (error) => ({ code: error.code, message: error.message });

const stream = acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
await acp
  .client({ name: "peer" })
  .onRequest(client.session.requestPermission, ({ params }) => ({
    outcome: { outcome: "selected", optionId: params.options[1].optionId },
  }))
  .onNotification(client.session.update, ({ params }) => {
    updates.push(params.update.content.text);
    received();
  })
  .connectWith(stream, async (peer) => {
    const initialized = await peer.request(agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION });
    report("initialize", initialized.protocolVersion);
    report("session", await peer.request(agent.session.new, { cwd: "/", mcpServers: [] }));
    report("prompt", await peer.request(agent.session.prompt, prompt("count 4")));
    report("updates", updates.splice(0));
    report("permission", await peer.request(agent.session.prompt, prompt("ask")));
    report("answer", updates.splice(0));

    const waiting = peer.request(agent.session.prompt, prompt("wait"));
    await new Promise((resolve) => (received = resolve));
    await peer.notify(agent.session.cancel, { sessionId: "s1" });
    report("cancelled turn", await waiting);

    const controller = new AbortController();
    received = () => controller.abort();
    const options = { cancellationSignal: controller.signal };
    const aborted = peer.request(agent.session.prompt, prompt("wait"), options);
    report("cancelled request", await aborted.catch(failure));
    received = () => {};
    updates.splice(0);

    report("unknown method", await peer.request("_none", {}).catch((error) => error.code));
    const many = Array.from({ length: 100 }, () => peer.request(agent.session.prompt, prompt("count 2")));
    const reasons = (await Promise.all(many)).map((response) => response.stopReason);
    report("many", [reasons.every((reason) => reason === "end_turn"), updates.length]);
  });
process.exit(0);
