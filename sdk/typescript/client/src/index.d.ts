/** `@zot/client`: drive the zot agent from TypeScript or JavaScript. */
/// <reference lib="esnext.disposable" />

import type { Infer, ObjectSchema } from "./ext/schema.js";
import type { ImageBlock, ImageInput as ImageBytes, TextBlock, ToolFailure, ToolResult } from "./ext/tools.js";
import type {
  CommandEntry,
  CumulativeUsage,
  Event,
  ExtensionEntry,
  FullMessage,
  HelloData,
  ImageInput,
  InvokedData,
  Message,
  ModelEntry,
  RememberFor,
  RepairReport,
  SetMessagesData,
  StateData,
  ToolEntry,
  UsageData,
} from "./protocol.js";

export type * from "./protocol.js";
export type { Infer, ObjectSchema, Schema, SchemaType } from "./ext/schema.js";
export type { ToolFailure, ToolResult } from "./ext/tools.js";

type MaybePromise<T> = T | PromiseLike<T>;

/* Errors */

export interface ZotErrorOptions {
  cause?: unknown;
  command?: string | undefined;
  retryAfterMs?: number | undefined;
  stderr?: string | undefined;
}

/**
 * Everything that goes wrong. `code` is one of the codes of docs/rpc.md, or one of the client's own: `not_started`,
 * `crashed`, `protocol`, `timeout`, `aborted`, `closed`, `tool_refused`, `bad_option`, `failed`.
 */
export declare class ZotError extends Error {
  constructor(code: string, message: string, options?: ZotErrorOptions);
  readonly code: string;
  /** The command that was refused. */
  readonly command: string | undefined;
  /** When trying again may help. */
  readonly retryAfterMs: number | undefined;
  /** The last 16 KiB that the process wrote to standard error. */
  readonly stderr: string | undefined;
}

/* Tools */

export interface ToolContext {
  readonly id: string;
  readonly name: string;
  /** Aborted when nobody waits for the result any more: the prompt was aborted or is over, or the client was closed. */
  readonly signal: AbortSignal;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly schema: ObjectSchema;
  readonly run: (args: never, context: ToolContext) => MaybePromise<ToolResult>;
}

export interface ToolDefinition<S extends ObjectSchema> {
  /** 1 to 64 letters, digits, `_` and `-`. */
  name: string;
  /** Tells the model what the tool does and when to call it. */
  description: string;
  /** A JSON Schema of the arguments; without it the tool takes none. They are checked before `run` sees them. */
  schema?: S;
  /** zot waits 60 seconds. What is thrown becomes an error that the model reads. */
  run: (args: Infer<S>, context: ToolContext) => MaybePromise<ToolResult>;
}

/** A tool for the model that runs in this process. The type of its arguments follows from the schema. */
export declare function tool<const S extends ObjectSchema = { readonly type: "object" }>(definition: ToolDefinition<S>): Tool;
export declare function text(value: string): TextBlock;
/** `data` is bytes, or text that is base64 already. */
export declare function image(data: string | Uint8Array, mimeType: string): ImageBlock;
/** What a tool returns to say that it failed; throwing does the same. */
export declare function toolError(content: string | TextBlock | ImageBlock | readonly (TextBlock | ImageBlock)[]): ToolFailure;

/* Approvals */

export interface ApprovalRequest {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  /** What the call would do: the command, the diff. */
  readonly preview: string | undefined;
  /** Aborted when the answer does not matter any more. */
  readonly signal: AbortSignal;
}

export interface ConfirmOptions {
  allow: boolean;
  /** What the model reads when the call is not allowed. */
  reason?: string;
  remember?: RememberFor;
  /** Other arguments to run the call with. */
  args?: unknown;
}

export type ApprovalAnswer = boolean | ConfirmOptions;

/* The client */

export interface ClientOptions {
  /** Unless given, the zot that the package brought, or `zot` on the PATH. */
  program?: string | undefined;
  provider?: string;
  model?: string;
  baseUrl?: string;
  /** Given to zot as an argument, which other users of the machine may see; `env` is more discreet. */
  apiKey?: string;
  /** Where the agent works; the directory of this process unless given. */
  cwd?: string;
  /** Added to the environment of this process; undefined removes a variable. */
  env?: Readonly<Record<string, string | undefined>>;
  systemPrompt?: string;
  reasoning?: string;
  /** Keeps the conversation in this file: continues what it holds, or creates it. */
  session?: string | undefined;
  /** Continues a kept session: its id, the beginning of it, or its path; `true` for the newest of `cwd`. */
  resume?: string | true | undefined;
  /** With `session` or `resume`: continues in a copy and leaves the original unchanged. */
  fork?: boolean | undefined;
  /** Confines zot's own tools to `cwd`. */
  jail?: boolean | undefined;
  /** Further flags of `zot rpc`. */
  args?: readonly string[];
  /** Functions that the model may call. */
  tools?: readonly Tool[];
  /** Which calls wait for an approval: all, or those of these tools. All if only `approve` is given. */
  confirm?: boolean | readonly string[];
  /** Answers them. What it throws is a no, and the reason for it. */
  approve?: (request: ApprovalRequest) => MaybePromise<ApprovalAnswer | undefined>;
  /** Sees every event when it is read, also those that belong to no prompt. */
  onEvent?: (event: Event) => void;
  /** Whether a process that crashed is replaced at the next command, with its conversation and settings; true unless given. */
  restart?: boolean;
  onRestart?: (restart: RestartInfo) => void;
  /** For the start, 30 s unless given. */
  startTimeoutMs?: number;
  /** For each command but prompts, 30 s unless given. */
  callTimeoutMs?: number;
  /** For each prompt, none unless given. */
  promptTimeoutMs?: number;
  /** How long an aborted prompt may take to end before the process is killed, 10 s unless given. */
  abortTimeoutMs?: number;
  /** How long zot may take to end before it is made to, 10 s unless given. */
  closeTimeoutMs?: number;
  /** Closes the client. */
  signal?: AbortSignal;
}

export interface RestartInfo {
  /** How the process before ended. */
  readonly error: ZotError;
  readonly messageCount: number;
  readonly repaired: RepairReport;
}

export interface CallOptions {
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** An image for a prompt: bytes or base64. */
export type Image = ImageBytes | ImageInput;

export interface PromptOptions extends CallOptions {
  images?: readonly Image[];
  /** What happens while another prompt runs: `reject` (as without it) throws a ZotError with the code `busy`. */
  whenBusy?: "reject" | "queue";
  /** Budgets: the prompt ends with an `error` of the code `budget`. */
  maxSteps?: number;
  maxCostUsd?: number;
  maxTokens?: number;
}

export type Usage = CumulativeUsage;

export interface Answer {
  /** The last message of the model. */
  text: string;
  /** What all turns of this prompt used. */
  usage: Usage;
  /** `end`, `length` or `aborted`. */
  stop: string;
}

export interface CompactResult {
  summary: string;
  usage: Usage;
}

/**
 * The events of a prompt. Nothing is sent before the first pull; leaving the loop early aborts the prompt and waits for
 * its end. While 256 events wait, nothing more is read from zot, unless a command waits for its response.
 */
export interface Prompt extends AsyncIterableIterator<Event> {
  readonly isAborted: boolean;
  return(): Promise<IteratorResult<Event, undefined>>;
  [Symbol.asyncIterator](): Prompt;
  [Symbol.asyncDispose](): Promise<void>;
}

/** With the action `prompt`, `events` are those of the prompt that runs now: iterate over them, or leave them with `return()`. */
export type InvokedCommand = InvokedData & { events?: Prompt };

export declare class Client implements AsyncDisposable {
  private constructor();

  /** Starts `zot rpc`. */
  static start(options?: ClientOptions): Promise<Client>;

  /** Ends the process and removes what was made for it. May be called again. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;

  /** Of the process that runs now. */
  readonly pid: number | undefined;
  /** The last 16 KiB that it wrote to standard error. */
  readonly stderr: string;

  prompt(message: string, options?: PromptOptions): Prompt;
  /** Runs a prompt to its end. Throws if it fails. */
  ask(message: string, options?: PromptOptions): Promise<Answer>;
  steer(message: string, options?: CallOptions & { images?: readonly Image[] }): Promise<void>;
  /** Answers a `tool_confirm` event, for clients without `approve`. */
  confirm(callId: string, answer: ConfirmOptions, options?: CallOptions): Promise<void>;
  /** Stops the running prompt or compaction, which then ends by itself. */
  abort(): Promise<void>;
  compact(options?: CallOptions): Promise<CompactResult>;

  getCommands(options?: CallOptions): Promise<CommandEntry[]>;
  /** Waits as long as it takes, unless `timeoutMs` says otherwise. */
  invokeCommand(name: string, args?: string, options?: CallOptions): Promise<InvokedCommand>;
  panelKey(key: { extension: string; panelId: string; key: string; text?: string }, options?: CallOptions): Promise<void>;
  panelResize(size: { extension: string; panelId: string; width: number; height: number }, options?: CallOptions): Promise<void>;
  panelClose(panel: { extension: string; panelId: string }, options?: CallOptions): Promise<void>;
  reloadExt(options?: CallOptions): Promise<ExtensionEntry[]>;

  hello(options?: CallOptions): Promise<HelloData>;
  getState(options?: CallOptions): Promise<StateData>;
  /** With `full`, everything needed to go on elsewhere. */
  getMessages(options: CallOptions & { full: true }): Promise<FullMessage[]>;
  getMessages(options?: CallOptions & { full?: false }): Promise<Message[]>;
  getUsage(options?: CallOptions): Promise<UsageData>;
  getModels(options?: CallOptions): Promise<ModelEntry[]>;
  getTools(options?: CallOptions): Promise<ToolEntry[]>;
  ping(options?: CallOptions): Promise<void>;

  /** Of any length: sent in pieces where it has to be. */
  setMessages(messages: readonly FullMessage[], options?: { append?: boolean }): Promise<SetMessagesData>;
  clear(options?: CallOptions): Promise<void>;
  setModel(model: string, options?: CallOptions): Promise<string>;
  /** Without `effort`, as the provider sees fit. */
  setReasoning(effort?: string, options?: CallOptions): Promise<string | null>;
  /** Without `tools`, all there are. */
  setTools(tools?: readonly string[], options?: CallOptions): Promise<ToolEntry[]>;
  /** Without `prompt`, the one the process started with. */
  setSystemPrompt(prompt?: string, options?: CallOptions): Promise<void>;
  /** Without `events`, all. Those that the client itself lives on come anyway. */
  subscribe(what?: { events?: readonly string[]; details?: boolean }, options?: CallOptions): Promise<string[]>;
}
