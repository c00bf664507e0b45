// What a program that uses the package may write; the test compiles it strictly, outside of this repository.
import { Client, tool, ZotError, type Event, type KnownEvent, type TextDeltaEvent } from "@zot/client";

const add = tool({
  name: "add",
  description: "Adds.",
  schema: { type: "object", properties: { a: { type: "number" }, unit: { enum: ["m", "km"] } }, required: ["a"] },
  run: async ({ a, unit }, { signal }) => {
    const number: number = a;
    const maybe: "m" | "km" | undefined = unit;
    // @ts-expect-error there is no such argument
    ({ a }).b;
    return signal.aborted ? "" : `${number} ${maybe}`;
  },
});

export async function main(): Promise<string> {
  await using client = await Client.start({ provider: "offline", tools: [add], approve: ({ name }) => name === "read" });
  // @ts-expect-error clients are started, not made
  new Client();
  for await (const event of client.prompt("hello", { timeoutMs: 1000, signal: AbortSignal.timeout(1000) })) show(event);
  const { text, usage, stop } = await client.ask("hello", { images: [{ image: new Uint8Array(), mimeType: "image/png" }] });
  const full = await client.getMessages({ full: true });
  await client.setMessages(full);
  const cost: number = usage.cost_usd;
  return `${text} ${cost} ${stop}`;
}

function show(event: Event): string {
  switch (event.type) {
    case "text_delta": {
      const delta: TextDeltaEvent = event;
      return delta.delta;
    }
    case "tool_result":
      return event.content.map((block) => (block.type === "text" ? block.text : block.type)).join("");
    case "done":
      // @ts-expect-error done has no text
      return event.text;
    case "user_message": case "turn_start": case "assistant_start": case "thinking_delta": case "retry": case "tool_use_start": case "tool_use_args":
    case "tool_use_end": case "usage": case "assistant_message": case "tool_call": case "turn_end": case "tool_progress":
    case "tool_confirm": case "tool_question": case "mcp_state": case "steer_dropped": case "fallback": case "error": case "ext_notify": case "ext_display": case "ext_panel":
    case "ext_panel_close": case "compact_done": {
      const known: KnownEvent = event;
      return known.type;
    }
    default: {
      // All known ones are dealt with: what is left came from a newer zot.
      const field: unknown = event.anything;
      return `${event.type}: ${String(field)}`;
    }
  }
}

export function explain(error: unknown): string {
  return error instanceof ZotError ? `${error.code} ${error.retryAfterMs ?? 0}` : "";
}
