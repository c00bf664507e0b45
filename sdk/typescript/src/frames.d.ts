/**
 * Every frame of the zot extension protocol, version 1, exactly as on the wire: one JSON
 * object per line. Receivers ignore fields and frame types they do not know.
 */

import type { ContentBlock } from "./tools.js";

export type { ContentBlock, ImageBlock, TextBlock } from "./tools.js";

export type EventName = "session_start" | "turn_start" | "turn_end" | "tool_call" | "assistant_message";
export type InterceptName = "tool_call" | "turn_start" | "assistant_message";
export type NotifyLevel = "info" | "success" | "warn" | "error";
export type JsonObject = { [key: string]: unknown };

/* What the extension sends */

export interface HelloFrame {
  type: "hello";
  name: string;
  version: string;
  capabilities: ("commands" | "tools" | "events")[];
}

export interface RegisterCommandFrame {
  type: "register_command";
  name: string;
  description: string;
}

export interface RegisterToolFrame {
  type: "register_tool";
  name: string;
  description: string;
  /** A JSON Schema whose type is "object". */
  schema: object;
}

export interface SubscribeFrame {
  type: "subscribe";
  events: EventName[];
  intercept: InterceptName[];
  /** Text deltas are held back until the assistant_message interceptor has decided. */
  hold_text?: boolean;
}

export interface ReadyFrame {
  type: "ready";
}

export interface ToolResultFrame {
  type: "tool_result";
  id: string;
  content: ContentBlock[];
  is_error?: boolean;
}

export interface EventInterceptResponseFrame {
  type: "event_intercept_response";
  id: string;
  block?: boolean;
  reason?: string;
  modified_args?: JsonObject;
  replace_text?: string;
}

export interface Panel {
  id: string;
  title?: string;
  lines: readonly string[];
  footer?: string;
}

interface CommandResponseBase {
  type: "command_response";
  id: string;
  /** Shown as an error, whatever the action. */
  error?: string;
}

export type CommandResponseFrame =
  | (CommandResponseBase & { action: "prompt"; prompt: string })
  | (CommandResponseBase & { action: "insert"; insert: string })
  | (CommandResponseBase & { action: "display"; display: string })
  | (CommandResponseBase & { action: "open_panel"; open_panel: Panel })
  | (CommandResponseBase & { action: "noop" });

export interface PanelRenderFrame {
  type: "panel_render";
  panel_id: string;
  title?: string;
  lines: readonly string[];
  footer?: string;
}

/** Either side closes a panel with the same frame. */
export interface PanelCloseFrame {
  type: "panel_close";
  panel_id: string;
}

export interface NotifyFrame {
  type: "notify";
  level: NotifyLevel;
  message: string;
}

export interface ShutdownAckFrame {
  type: "shutdown_ack";
}

export type ExtensionFrame =
  | HelloFrame
  | RegisterCommandFrame
  | RegisterToolFrame
  | SubscribeFrame
  | ReadyFrame
  | ToolResultFrame
  | EventInterceptResponseFrame
  | CommandResponseFrame
  | PanelRenderFrame
  | PanelCloseFrame
  | NotifyFrame
  | ShutdownAckFrame;

/* What zot sends */

export interface HelloAckFrame {
  type: "hello_ack";
  protocol_version: number;
  zot_version: string;
  provider: string;
  model: string;
  /** The agent's working directory; the extension itself runs in `extension_dir`. */
  cwd: string;
  extension_dir: string;
  /** The directory for the extension's state. */
  data_dir: string;
}

export interface CommandInvokedFrame {
  type: "command_invoked";
  id: string;
  name: string;
  /** What was typed after the command, trimmed. */
  args: string;
}

export interface ToolCallFrame {
  type: "tool_call";
  id: string;
  name: string;
  args: JsonObject;
}

/** The fields of each event, whether it is observed or intercepted. */
export interface EventFields {
  session_start: { event: "session_start" };
  turn_start: { event: "turn_start"; step: number };
  turn_end: { event: "turn_end"; stop: string; error?: string };
  tool_call: { event: "tool_call"; tool_id: string; tool_name: string; tool_args: JsonObject };
  /** `text` is missing if the message has none, for example if it only calls tools. */
  assistant_message: { event: "assistant_message"; text?: string };
}

export type EventFrameOf<Name extends EventName> = { type: "event" } & EventFields[Name];

export type EventFrame =
  | EventFrameOf<"session_start">
  | EventFrameOf<"turn_start">
  | EventFrameOf<"turn_end">
  | EventFrameOf<"tool_call">
  | EventFrameOf<"assistant_message">;

export type EventInterceptFrameOf<Name extends InterceptName> = { type: "event_intercept"; id: string } & EventFields[Name];

export type EventInterceptFrame =
  | EventInterceptFrameOf<"tool_call">
  | EventInterceptFrameOf<"turn_start">
  | EventInterceptFrameOf<"assistant_message">;

export interface PanelKeyFrame {
  type: "panel_key";
  panel_id: string;
  /**
   * "rune" if it types `text` (including a space), otherwise its name: "up", "down", "left", "right", "home", "end", "pageup",
   * "pagedown", "enter", "tab", "backspace", "delete", "insert", "f1", "paste" (with its text), "ctrl+a", "shift+tab".
   * Esc is not sent: it closes the panel.
   */
  key: string;
  /** The characters typed, if the key types any. */
  text?: string;
}

export interface PanelResizeFrame {
  type: "panel_resize";
  panel_id: string;
  width: number;
  height: number;
}

export interface ShutdownFrame {
  type: "shutdown";
}

export type HostFrame =
  | HelloAckFrame
  | CommandInvokedFrame
  | ToolCallFrame
  | EventFrame
  | EventInterceptFrame
  | PanelKeyFrame
  | PanelResizeFrame
  | PanelCloseFrame
  | ShutdownFrame;
