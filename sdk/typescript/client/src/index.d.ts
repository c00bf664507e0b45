/** `@zot/client`: drive the zot agent from TypeScript or JavaScript. */
/// <reference lib="esnext.disposable" />

import type { Infer, ObjectSchema } from "./ext/schema.js";
import type { ImageBlock, ImageInput as ImageBytes, TextBlock, ToolFailure, ToolResult } from "./ext/tools.js";
import type {
  AnswerAction,
  CommandEntry,
  CumulativeUsage,
  Event,
  ExtensionEntry,
  FullMessage,
  HelloData,
  ImageInput,
  InvokedData,
  McpData,
  Message,
  ModelEntry,
  RememberFor,
  RepairReport,
  SandboxData,
  SandboxLevel,
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
 * The only error class. `code` is one of the codes of docs/rpc.md, or one of the client's own: `not_started`,
 * `crashed`, `protocol`, `timeout`, `aborted`, `closed`, `tool_refused`, `bad_option`, `failed`.
 */
export declare class ZotError extends Error {
  constructor(code: string, message: string, options?: ZotErrorOptions);
  readonly code: string;
  /** The command that was rejected. */
  readonly command: string | undefined;
  /** When a retry may succeed. */
  readonly retryAfterMs: number | undefined;
  /** The last 16 KiB that the process wrote to standard error. */
  readonly stderr: string | undefined;
}

/* Tools */

export interface ToolContext {
  readonly id: string;
  readonly name: string;
  /** Aborted when the result is no longer needed: the prompt was aborted or is over, or the client was closed. */
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
  /** What the tool does and when to call it, for the model. */
  description: string;
  /** A JSON Schema of the arguments; without it the tool takes none. They are checked before `run` sees them. */
  schema?: S;
  /** zot waits 60 seconds. The model reads a thrown error. */
  run: (args: Infer<S>, context: ToolContext) => MaybePromise<ToolResult>;
}

/** A tool for the model that runs in this process. The type of its arguments follows from the schema. */
export declare function tool<const S extends ObjectSchema = { readonly type: "object" }>(definition: ToolDefinition<S>): Tool;
export declare function text(value: string): TextBlock;
/** `data` is bytes, or base64 text. */
export declare function image(data: string | Uint8Array, mimeType: string): ImageBlock;
/** The result of a failed tool; throwing does the same. */
export declare function toolError(content: string | TextBlock | ImageBlock | readonly (TextBlock | ImageBlock)[]): ToolFailure;

/* Approvals */

export interface ApprovalRequest {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  /** What the call would do, such as the command or the diff. */
  readonly preview: string | undefined;
  /** Aborted when the decision no longer matters. */
  readonly signal: AbortSignal;
}

export interface ConfirmOptions {
  allow: boolean;
  /** Read by the model if the call is not allowed. */
  reason?: string;
  remember?: RememberFor;
  /** Other arguments to run the call with. */
  args?: unknown;
}

export interface AnswerOptions {
  /** `accept`, `decline` (the user does not want to answer) or `cancel` (the user dismissed the question). */
  action: AnswerAction;
  /** The fields of the form. */
  content?: unknown;
}

export type ApprovalAnswer = boolean | ConfirmOptions;

/* The client */

/** What zot's own tools may do: docs/sandbox.md. Paths may begin with `~/`, or are relative to `cwd`. */
export interface SandboxOptions {
  level: SandboxLevel;
  read?: readonly string[] | undefined;
  write?: readonly string[] | undefined;
  /** The only programs that can be started, beside the shell. An empty list works with `setSandbox`, not at the start. */
  run?: readonly string[] | undefined;
  /** Hosts, as `host:port`. */
  connect?: readonly string[] | undefined;
  unixSockets?: readonly string[] | undefined;
  /** Variables that commands get although the level withholds them. */
  environment?: readonly string[] | undefined;
  /** The limits of a command; 0 means none. */
  memoryMib?: number | undefined;
  processes?: number | undefined;
  processorSeconds?: number | undefined;
  openFiles?: number | undefined;
}

export interface ClientOptions {
  /** The path of zot; defaults to the one in the package `zot-agent`, or `zot` on PATH. */
  program?: string | undefined;
  provider?: string;
  model?: string;
  baseUrl?: string;
  /** Passed to zot as an argument, which other users of the machine may see; prefer a variable in `env`. */
  apiKey?: string;
  /** The working directory of the agent; defaults to that of this process. */
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
  /** What zot's own tools may do: a level, or a level with exact rules. Without it, zot's settings decide. */
  sandbox?: SandboxLevel | SandboxOptions | undefined;
  /** Further flags of `zot rpc`. */
  args?: readonly string[];
  /** Functions that the model may call. */
  tools?: readonly Tool[];
  /** Which tool calls need approval: all, or those of these tools. Defaults to all if `approve` is given. */
  confirm?: boolean | readonly string[];
  /** Decides about them. If it throws, the call is denied with the error as the reason. */
  approve?: (request: ApprovalRequest) => MaybePromise<ApprovalAnswer | undefined>;
  /** Lets tools of MCP servers and the sandbox ask: answer `tool_question` events with `answer`. Without it they are declined. */
  questions?: boolean | undefined;
  /** Files with MCP servers to use in addition to the user's. */
  mcpConfig?: readonly string[] | undefined;
  /** Whether the user's MCP servers are used; defaults to true. */
  installedMcp?: boolean | undefined;
  /** Starts the MCP servers of the project's `.mcp.json` as well: programs that its author chose. */
  projectMcp?: boolean | undefined;
  /** Called for every event as it is read, including those outside of prompts. */
  onEvent?: (event: Event) => void;
  /** Whether the next command after a crash starts a new process, with its conversation and settings; defaults to true. */
  restart?: boolean;
  onRestart?: (restart: RestartInfo) => void;
  /** Limit for the start; defaults to 30 s. */
  startTimeoutMs?: number;
  /** Limit for each command except prompts; defaults to 30 s. */
  callTimeoutMs?: number;
  /** Limit for each prompt; none by default. */
  promptTimeoutMs?: number;
  /** How long an aborted prompt may take to end before the process is killed; defaults to 10 s. */
  abortTimeoutMs?: number;
  /** How long zot may take to end before it is signalled; defaults to 10 s. */
  closeTimeoutMs?: number;
  /** Closes the client. */
  signal?: AbortSignal;
}

export interface RestartInfo {
  /** How the previous process ended. */
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
  /** What happens while another prompt runs: `reject` (the default) throws a ZotError with the code `busy`. */
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
  /** The usage of all turns of this prompt. */
  usage: Usage;
  /** `end`, `length` or `aborted`. */
  stop: string;
}

export interface CompactResult {
  summary: string;
  usage: Usage;
}

/**
 * The events of a prompt. The prompt is sent at the first pull; leaving the loop early aborts it and waits for its end.
 * While 256 events wait, reading from zot pauses, unless a command waits for its response.
 */
export interface Prompt extends AsyncIterableIterator<Event> {
  readonly isAborted: boolean;
  return(): Promise<IteratorResult<Event, undefined>>;
  [Symbol.asyncIterator](): Prompt;
  [Symbol.asyncDispose](): Promise<void>;
}

/** With the action `prompt`, `events` are those of the running prompt: iterate over them, or call `return()`. */
export type InvokedCommand = InvokedData & { events?: Prompt };

export declare class Client implements AsyncDisposable {
  private constructor();

  /** Starts `zot rpc`. */
  static start(options?: ClientOptions): Promise<Client>;

  /** Ends the process and removes its temporary files. Safe to call twice. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;

  /** The process id of the current process. */
  readonly pid: number | undefined;
  /** The last 16 KiB that it wrote to standard error. */
  readonly stderr: string;

  prompt(message: string, options?: PromptOptions): Prompt;
  /** Runs a prompt to its end. Throws if it fails. */
  ask(message: string, options?: PromptOptions): Promise<Answer>;
  steer(message: string, options?: CallOptions & { images?: readonly Image[] }): Promise<void>;
  /** Decides about a `tool_confirm` event, for clients without `approve`. */
  confirm(callId: string, answer: ConfirmOptions, options?: CallOptions): Promise<void>;
  /** Answers a `tool_question` event, for clients with `questions`. */
  answer(questionId: string, answer: AnswerOptions, options?: CallOptions): Promise<void>;
  /** Aborts the running prompt or compaction; its events still end with `done`. */
  abort(): Promise<void>;
  compact(options?: CallOptions): Promise<CompactResult>;

  getCommands(options?: CallOptions): Promise<CommandEntry[]>;
  /** Has no time limit unless `timeoutMs` is given. */
  invokeCommand(name: string, args?: string, options?: CallOptions): Promise<InvokedCommand>;
  panelKey(key: { extension: string; panelId: string; key: string; text?: string }, options?: CallOptions): Promise<void>;
  panelResize(size: { extension: string; panelId: string; width: number; height: number }, options?: CallOptions): Promise<void>;
  panelClose(panel: { extension: string; panelId: string }, options?: CallOptions): Promise<void>;
  reloadExt(options?: CallOptions): Promise<ExtensionEntry[]>;

  hello(options?: CallOptions): Promise<HelloData>;
  getState(options?: CallOptions): Promise<StateData>;
  /** With `full`, everything that `setMessages` needs to restore it. */
  getMessages(options: CallOptions & { full: true }): Promise<FullMessage[]>;
  getMessages(options?: CallOptions & { full?: false }): Promise<Message[]>;
  getUsage(options?: CallOptions): Promise<UsageData>;
  getModels(options?: CallOptions): Promise<ModelEntry[]>;
  getTools(options?: CallOptions): Promise<ToolEntry[]>;
  /** Returns the MCP servers and their states. */
  getMcp(options?: CallOptions): Promise<McpData>;
  ping(options?: CallOptions): Promise<void>;

  /** Of any length: sent in pieces where it has to be. */
  setMessages(messages: readonly FullMessage[], options?: { append?: boolean }): Promise<SetMessagesData>;
  clear(options?: CallOptions): Promise<void>;
  setModel(model: string, options?: CallOptions): Promise<string>;
  /** Without `effort`, as the provider sees fit. */
  setReasoning(effort?: string, options?: CallOptions): Promise<string | null>;
  /** Without `tools`, all there are. */
  setTools(tools?: readonly string[], options?: CallOptions): Promise<ToolEntry[]>;
  /** What zot's own tools may do from the next call on. Whatever is left out is as it was when zot started. */
  setSandbox(sandbox: SandboxLevel | SandboxOptions, options?: CallOptions): Promise<SandboxData>;
  /** Without `prompt`, the one the process started with. */
  setSystemPrompt(prompt?: string, options?: CallOptions): Promise<void>;
  /** Without `events`, all. Those that the client itself lives on come anyway. */
  subscribe(what?: { events?: readonly string[]; details?: boolean }, options?: CallOptions): Promise<string[]>;
}
