// A host for one app, built on the official package.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge, PostMessageTransport, RESOURCE_MIME_TYPE, getToolUiResourceUri } from "@modelcontextprotocol/ext-apps/app-bridge";

const host = { name: "host", version: "1.0.0" };
const capabilities = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } } };
const client = new Client(host, { capabilities });
await client.connect(new StreamableHTTPClientTransport(new URL("mcp", location.href)));

const { tools } = await client.listTools();
const tool = tools.find((tool) => getToolUiResourceUri(tool) !== undefined);
const [page] = (await client.readResource({ uri: getToolUiResourceUri(tool) })).contents;
if (page.mimeType !== RESOURCE_MIME_TYPE) throw new Error(`the page is ${page.mimeType}`);
const input = { sides: 20 };
const result = client.callTool({ name: tool.name, arguments: input });

const frame = document.createElement("iframe");
frame.title = tool.title ?? tool.name;
frame.setAttribute("sandbox", "allow-scripts");
document.body.append(frame);
const bridge = new AppBridge(client, host, { serverTools: {} });
bridge.onsizechange = ({ height }) => {
  frame.style.height = `${height}px`;
};
bridge.oninitialized = async () => {
  await bridge.sendToolInput({ arguments: input });
  await bridge.sendToolResult(await result);
  document.body.dataset.state = "shown";
};
await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
frame.srcdoc = page.text;
