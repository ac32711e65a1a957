// A client of the first SDK version for the example `tools`: `node sdk1-tools.mjs COMMAND [ARGUMENT..]`.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { useTools } from "./use-tools.mjs";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "sdk", version: "1" });
await client.connect(new StdioClientTransport({ command, args }));
await useTools(client);
