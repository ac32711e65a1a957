// Calls the tools of the example `tools` with a client of either SDK version. Prints each step as a line of JSON.
const printStep = (step, value) => console.log(JSON.stringify({ step, value }));

export async function useTools(client) {
  const { tools } = await client.listTools();
  printStep("tools", tools.map((tool) => `${tool.name}: ${Object.keys(tool.inputSchema.properties)}`));
  const call = (name, args) => client.callTool({ name, arguments: args });
  printStep("echo", (await call("echo", { message: "hello" })).content[0].text);
  printStep("add", (await call("add", { a: 2, b: 3 })).content[0].text);
  const wrong = await call("add", { a: 2, b: "three" });
  printStep("wrong", [wrong.isError, wrong.content[0].text.includes("b")]);
  printStep("unknown tool", await call("nothing", {}).catch((error) => error.code));
  await client.close();
}
