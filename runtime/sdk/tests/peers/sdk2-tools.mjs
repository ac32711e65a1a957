// A client of the second SDK version for the example `tools`: `node sdk2-tools.mjs legacy|modern COMMAND [ARGUMENT..]`.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { useTools } from "./use-tools.mjs";

const [protocol, command, ...args] = process.argv.slice(2);
const mode = protocol === "legacy" ? "legacy" : "auto";
const client = new Client({ name: "sdk2", version: "1" }, { versionNegotiation: { mode } });
await client.connect(new StdioClientTransport({ command, args }));
console.log(JSON.stringify({ step: "revision", value: client.getNegotiatedProtocolVersion() }));
await useTools(client);
