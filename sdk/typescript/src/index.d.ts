/** `@zot/ext`: write zot extensions in TypeScript or JavaScript. */

import type {
  ContentBlock,
  EventFrameOf,
  EventInterceptFrameOf,
  EventName,
  HelloAckFrame,
  InterceptName,
  JsonObject,
  NotifyLevel,
  Panel,
  PanelCloseFrame,
  PanelKeyFrame,
  PanelResizeFrame,
  TextBlock,
  ImageBlock,
} from "./frames.js";
import type { Infer, ObjectSchema } from "./schema.js";
import type { ToolFailure, ToolResult } from "./tools.js";

export type * from "./frames.js";
export type { Infer, ObjectSchema, Schema, SchemaType } from "./schema.js";
export type { ImageInput, ToolFailure, ToolResult } from "./tools.js";

type MaybePromise<T> = T | PromiseLike<T>;

/* Commands */

/** What zot does after a command has run; made by `prompt`, `insert`, `display`, `openPanel`, `noop` and `commandError`. */
export type CommandResponse =
  | { action: "prompt"; prompt: string }
  | { action: "insert"; insert: string }
  | { action: "display"; display: string }
  | { action: "open_panel"; open_panel: Panel }
  | { action: "noop"; error?: string };

/** A string is displayed; undefined does nothing. */
export type CommandResult = CommandResponse | string | void | undefined;

export interface CommandContext {
  readonly name: string;
  /** Aborted when zot shuts the extension down. */
  readonly signal: AbortSignal;
}

export type CommandHandler = (args: string, context: CommandContext) => MaybePromise<CommandResult>;

/** Sends `text` to the model as if the user had typed it. */
export declare function prompt(text: string): CommandResponse;
/** Puts `text` into the editor without sending it. */
export declare function insert(text: string): CommandResponse;
/** Shows `text` to the user; the model never sees it. */
export declare function display(text: string): CommandResponse;
/** Opens a panel; `Extension.onPanelKey` receives its keys. */
export declare function openPanel(panel: Panel): CommandResponse;
/** Does nothing. */
export declare function noop(): CommandResponse;
/** Shows `message` to the user as an error. */
export declare function commandError(message: string): CommandResponse;

/* Tools */

export interface ToolContext {
  readonly id: string;
  readonly name: string;
  /** Aborted when zot shuts the extension down. */
  readonly signal: AbortSignal;
}

export interface ToolOptions<S extends ObjectSchema = ObjectSchema> {
  /** What the tool does and when to call it, for the model. */
  description: string;
  /** The schema of the arguments; without it the tool takes none. */
  parameters?: S;
}

export type ToolHandler<Args> = (args: Args, context: ToolContext) => MaybePromise<ToolResult>;

export declare function text(value: string): TextBlock;
/** `data` is bytes, or base64 text. */
export declare function image(data: string | Uint8Array, mimeType: string): ImageBlock;
/** Reports a failed call to the model. Throwing an error does the same. */
export declare function toolError(content: string | ContentBlock | readonly ContentBlock[]): ToolFailure;

/* Events and interceptors */

export type EventHandler<Name extends EventName> = (event: EventFrameOf<Name>) => MaybePromise<void>;

export interface Allow {
  readonly decision: "allow";
}
export interface Block {
  readonly decision: "block";
  readonly reason: string;
}
export interface Modify {
  readonly decision: "modify";
  readonly args: JsonObject;
}
export interface Replace {
  readonly decision: "replace";
  readonly text: string;
}

export interface Decisions {
  tool_call: Allow | Block | Modify;
  turn_start: Allow | Block;
  assistant_message: Allow | Block | Replace;
}

/** Undefined allows. */
export type Interceptor<Name extends InterceptName> = (
  event: EventInterceptFrameOf<Name>,
) => MaybePromise<Decisions[Name] | void | undefined>;

export interface InterceptOptions {
  /**
   * What happens if the handler throws. Defaults to `on_failure` of the manifest, and that to "allow".
   */
  onError?: "allow" | "block";
}

export interface MessageInterceptOptions extends InterceptOptions {
  /** Delays streaming text to the user until this interceptor has decided. */
  holdText?: boolean;
}

export declare function allow(): Allow;
/** The model reads `reason` as the error of a tool call. */
export declare function block(reason: string): Block;
/** Runs the tool with these arguments instead. */
export declare function modify(args: JsonObject): Modify;
/** Shows this text instead of the message. */
export declare function replace(text: string): Replace;

/* The extension */

export declare class Extension {
  /** From here on standard output is reserved for frames: `console.log` writes to the extension's log. */
  constructor(name: string, version?: string);

  readonly name: string;
  readonly version: string;
  /** zot's response to hello; undefined until then, known in every handler. */
  readonly host: HelloAckFrame | undefined;
  /** The directory for the extension's state; known in every handler, throws before. */
  readonly dataDir: string;

  /** Adds the slash command `/name`. */
  command(name: string, description: string, handler: CommandHandler): this;

  /** Adds a tool for the model; the type of the arguments follows from the schema. */
  tool<const S extends ObjectSchema = { readonly type: "object" }>(
    name: string,
    options: ToolOptions<S>,
    handler: ToolHandler<Infer<S>>,
  ): this;

  /** Observes an event. Handlers run one after another, in the order of the events. */
  on<Name extends EventName>(event: Name, handler: EventHandler<Name>): this;

  /** Decides about an event before it happens; zot waits five seconds. One handler per event. */
  intercept(event: "assistant_message", handler: Interceptor<"assistant_message">, options?: MessageInterceptOptions): this;
  intercept<Name extends InterceptName>(event: Name, handler: Interceptor<Name>, options?: InterceptOptions): this;

  /** Shows a notice to the user, at any time after `run`. */
  notify(level: NotifyLevel, message: string): void;

  /** Redraws an open panel. */
  renderPanel(panel: Panel): void;
  closePanel(id: string): void;
  onPanelKey(id: string, handler: (key: string, event: PanelKeyFrame) => MaybePromise<void>): this;
  onPanelResize(id: string, handler: (event: PanelResizeFrame) => MaybePromise<void>): this;
  /** Called when the user has closed the panel. */
  onPanelClose(id: string, handler: (event: PanelCloseFrame) => MaybePromise<void>): this;

  /** Runs after zot has responded to hello, before any other handler: load state there. */
  onStart(callback: (host: HelloAckFrame) => MaybePromise<void>): this;
  /** Runs at the end, for at most a second. */
  onShutdown(callback: () => MaybePromise<void>): this;

  /** Sends hello and serves until zot ends the process; the promise does not resolve. */
  run(): Promise<never>;
}
