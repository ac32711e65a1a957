// What a client of either version of the SDK does with the example of two tools. Prints what it learns as JSON, a line each.
const say = (step, value) => console.log(JSON.stringify({ step, value }));

export async function useTools(client) {
  const { tools } = await client.listTools();
  say("tools", tools.map((tool) => `${tool.name}: ${Object.keys(tool.inputSchema.properties)}`));
  const call = (name, args) => client.callTool({ name, arguments: args });
  say("echo", (await call("echo", { message: "hello" })).content[0].text);
  say("add", (await call("add", { a: 2, b: 3 })).content[0].text);
  const wrong = await call("add", { a: 2, b: "three" });
  say("wrong", [wrong.isError, wrong.content[0].text.includes("b")]);
  say("unknown tool", await call("nothing", {}).catch((error) => error.code));
  await client.close();
}
