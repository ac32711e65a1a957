// An ACP agent on standard input and output.
import { Readable, Writable } from "node:stream";

import * as acp from "@agentclientprotocol/sdk";

const { agent, client } = acp.methods;
const aborted = [];

const stream = acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
const connection = acp
  .agent({ name: "peer" })
  .onRequest(agent.initialize, ({ params }) => ({ protocolVersion: params.protocolVersion }))
  .onRequest(agent.session.new, () => ({ sessionId: "s1" }))
  .onRequest(agent.session.prompt, async ({ params, signal, client: peer }) => {
    const [word, number] = params.prompt[0].text.split(" ");
    const say = (text) =>
      peer.notify(client.session.update, {
        sessionId: "s1",
        update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
      });
    if (word === "count") {
      for (let index = 0; index < Number(number); index++) await say(`${index}`);
    } else if (word === "ask") {
      const { outcome } = await peer.request(client.session.requestPermission, {
        sessionId: "s1",
        toolCall: { toolCallId: "t1", title: "Write a file" },
        options: [
          { optionId: "yes", name: "Yes", kind: "allow_once" },
          { optionId: "no", name: "No", kind: "reject_once" },
        ],
      });
      await say(outcome.optionId);
    } else if (word === "wait") {
      await say("waiting");
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      aborted.push(number);
      throw acp.RequestError.requestCancelled();
    } else if (word === "aborted") {
      await say(JSON.stringify(aborted));
    }
    return { stopReason: "end_turn" };
  })
  .connect(stream);
await connection.closed;
