// Checked by `npm run check`, never run: what an author writes, and what must not compile.
import {
  Extension,
  allow,
  block,
  display,
  modify,
  openPanel,
  prompt,
  replace,
  toolError,
  type EventFrame,
  type ExtensionFrame,
  type HostFrame,
  type Infer,
} from "@zot/ext";
import { startHost } from "@zot/ext/testing";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function check<_T extends true>(): void {}

const ext = new Extension("hello", "1.0.0");
ext.command("hello", "say hi", () => prompt("Greet me in one short sentence."));
ext.command("show", "show it", async (args, { signal }) => (signal.aborted ? undefined : display(args)));
ext.command("panel", "open it", () => openPanel({ id: "p", title: "P", lines: ["a"], footer: "f" }));
// @ts-expect-error a panel has lines
ext.command("panel2", "open it", () => openPanel({ id: "p" }));
// @ts-expect-error a number is no response
ext.command("number", "wrong", () => 5);

ext.tool(
  "weather",
  {
    description: "Current weather",
    parameters: {
      type: "object",
      properties: {
        city: { type: "string" },
        unit: { type: "string", enum: ["c", "f"] },
        days: { type: ["integer", "null"] },
        tags: { type: "array", items: { type: "string" } },
        place: { type: "object", properties: { lat: { type: "number" } }, required: ["lat"] },
        anything: {},
      },
      required: ["city", "place"],
    },
  },
  (args, context) => {
    check<
      Equal<
        typeof args,
        { city: string; place: { lat: number }; unit?: "c" | "f"; days?: number | null; tags?: string[]; anything?: unknown }
      >
    >();
    check<Equal<typeof context.signal, AbortSignal>>();
    // @ts-expect-error no such argument
    args.town;
    return `${args.city}: sunny`;
  },
);

const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
check<Equal<Infer<typeof parameters>, { city: string }>>();
ext.tool("literal", { description: "as const", parameters }, async ({ city }) => ({ city, length: city.length }));
ext.tool("bare", { description: "no parameters" }, (args) => {
  check<Equal<typeof args, { [name: string]: unknown }>>();
  return toolError("no");
});
ext.tool("image", { description: "an image" }, () => ({ image: new Uint8Array(), mimeType: "image/png" }));
// @ts-expect-error the parameters of a tool are an object
ext.tool("list", { description: "wrong", parameters: { type: "array" } }, () => "");

ext.on("turn_end", (event) => void (event.stop satisfies string));
ext.on("tool_call", async (event) => void (event.tool_args satisfies object));
// @ts-expect-error there is no such event
ext.on("turn_middle", () => {});
// @ts-expect-error turn_start has a step, not a stop
ext.on("turn_start", (event) => void event.stop);

ext.intercept("tool_call", (event) => (event.tool_name === "bash" ? block("no") : modify({ a: 1 })));
ext.intercept("turn_start", async () => allow(), { onError: "block" });
ext.intercept("assistant_message", (event) => (event.text ? replace("x") : undefined), { holdText: true });
// @ts-expect-error a turn has no arguments to modify
ext.intercept("turn_start", () => modify({}));
// @ts-expect-error only messages are replaced
ext.intercept("tool_call", () => replace("x"));
// @ts-expect-error only messages hold text
ext.intercept("tool_call", () => allow(), { holdText: true });
// @ts-expect-error turn_end cannot be intercepted
ext.intercept("turn_end", () => allow());

ext.notify("success", "done");
// @ts-expect-error there is no such level
ext.notify("fatal", "done");
ext.onPanelKey("p", (key) => ext.renderPanel({ id: "p", lines: [key] }));
check<Equal<typeof ext.dataDir, string>>();
// @ts-expect-error unknown until zot has answered
ext.host.model;

// Both directions are discriminated unions.
export function direction(sent: ExtensionFrame, received: HostFrame, event: EventFrame): unknown[] {
  const first = sent.type === "command_response" && sent.action === "prompt" ? (sent.prompt satisfies string) : "";
  const second = received.type === "tool_call" ? (received.args satisfies object) : {};
  const third = event.event === "turn_start" ? (event.step satisfies number) : 0;
  check<Equal<Exclude<HostFrame["type"], "hello_ack" | "command_invoked" | "tool_call" | "event" | "event_intercept" | "panel_key" | "panel_resize" | "panel_close" | "shutdown">, never>>();
  return [first, second, third];
}

export async function harness(): Promise<void> {
  const host = await startHost(["node", "x.js"]);
  host.emit("session_start");
  host.emit("turn_start", { step: 1 });
  // @ts-expect-error a turn has a step
  host.emit("turn_start");
  (await host.waitFor("notify")).message satisfies string;
  (await host.callTool("weather", { city: "Berlin" })).text satisfies string;
  (await host.shutdown()).code satisfies number | null;
}
