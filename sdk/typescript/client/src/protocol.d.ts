// Generated from docs/schema/rpc.schema.json by scripts/generate.js: do not edit.

/** Every frame of `zot rpc`, exactly as on the wire. Ignore fields you do not know. */

/** `abort` succeeded. */
export interface AbortResponse { type: "response"; command: "abort"; id?: RequestId; success: true }

/** What a person does with a question. */
export type AnswerAction = "accept" | "decline" | "cancel";

/** `answer` succeeded. */
export interface AnswerResponse { type: "response"; command: "answer"; id?: RequestId; success: true }

export type AnyJson = unknown;

/** `clear` succeeded. */
export interface ClearResponse { type: "response"; command: "clear"; id?: RequestId; success: true }

/** Introduces the client; required first, with the token, when `ZOTCORE_RPC_TOKEN` is set. */
export interface HelloCommand {
  type: "hello";
  /** What the client supports beyond the original protocol. `confirm`: it responds to `tool_confirm`. `questions`: it responds to `tool_question`. Others are ignored. */
  capabilities?: string[];
  id?: RequestId;
  token?: string;
}

/** Runs the agent on a message. */
export interface PromptCommand {
  type: "prompt";
  id?: RequestId;
  images?: ImageInput[];
  max_cost_usd?: number;
  max_steps?: number;
  max_tokens?: number;
  /** Attach the files and directories that the message mentions as `@path`. */
  mentions?: boolean;
  message?: string;
  timeout_ms?: number;
  when_busy?: WhenBusy;
}

/** Cancels the running prompt or compaction. */
export interface AbortCommand { type: "abort"; id?: RequestId }

/** Summarises the transcript into one message. */
export interface CompactCommand { type: "compact"; id?: RequestId }

export interface GetStateCommand { type: "get_state"; id?: RequestId }

/** Returns the transcript; with `full`, everything needed to continue elsewhere. */
export interface GetMessagesCommand { type: "get_messages"; full?: boolean; id?: RequestId }

/** Restores a transcript, validated and repaired. `append` adds to the current one, for transcripts longer than a line may be. */
export interface SetMessagesCommand { type: "set_messages"; append?: boolean; id?: RequestId; messages: FullMessage[] }

/** Drops the transcript. */
export interface ClearCommand { type: "clear"; id?: RequestId }

/** Switches to another model of the same provider. */
export interface SetModelCommand { type: "set_model"; id?: RequestId; model: string }

export interface GetModelsCommand { type: "get_models"; id?: RequestId }

/** Sets the reasoning effort; without `effort`, the provider's default. */
export interface SetReasoningCommand { type: "set_reasoning"; effort?: string; id?: RequestId }

/** Gives the model exactly these tools; without `tools`, all of them. `server__*` stands for all tools of an MCP server. */
export interface SetToolsCommand { type: "set_tools"; id?: RequestId; tools?: string[] }

/** Changes what the built-in tools may do, from the next call on. */
export interface SetSandboxCommand {
  type: "set_sandbox";
  id?: RequestId;
  /** Hosts that can be connected to: `host:port`, `host`, `*.domain` or `*`. */
  connect?: string[];
  /** Variables that commands get although the level withholds them; `PREFIX_*` names many. */
  environment?: string[];
  level: SandboxLevel;
  /** Memory of each process of a command; 0 means no limit, as in the fields below. */
  memory_mib?: number;
  /** Open files of each process of a command. */
  open_files?: number;
  /** Processes and threads of a command at a time. */
  processes?: number;
  /** Processor time of each process of a command. */
  processor_seconds?: number;
  /** Paths that can be read besides. A path may begin with `~/`, or is relative to `cwd`. */
  read?: string[];
  /** The only programs that can be started. */
  run?: string[];
  /** Unix sockets that can be connected to. */
  unix_sockets?: string[];
  /** Paths that can be changed besides. */
  write?: string[];
}

/** Replaces the system prompt; without `prompt`, by the one the process started with. */
export interface SetSystemPromptCommand { type: "set_system_prompt"; id?: RequestId; prompt?: string }

/** Returns the usage by model and by model call. */
export interface GetUsageCommand { type: "get_usage"; id?: RequestId }

/** Returns all tools, and which of them the model has. */
export interface GetToolsCommand { type: "get_tools"; id?: RequestId }

/** Returns the MCP servers and their states. */
export interface GetMcpCommand { type: "get_mcp"; id?: RequestId }

/** Adds a message to the running prompt. */
export interface SteerCommand {
  type: "steer";
  id?: RequestId;
  images?: ImageInput[];
  /** Attach the files and directories that the message mentions as `@path`. */
  mentions?: boolean;
  message: string;
}

/** Responds to a `tool_confirm` event. */
export interface ConfirmCommand {
  type: "confirm";
  id?: RequestId;
  allow: boolean;
  /** Other arguments to run the call with. */
  args?: AnyJson;
  /** The id of the call, as in the event. May be omitted if the `id` of the command is the same. */
  call_id: string;
  /** The reason for the model if the call is not allowed. */
  reason?: string;
  remember?: RememberFor;
}

/** Responds to a `tool_question` event. */
export interface AnswerCommand {
  type: "answer";
  id?: RequestId;
  action: AnswerAction;
  /** The fields of the form, with `accept`. */
  content?: AnyJson;
  /** The id of the question, as in the event. May be omitted if the `id` of the command is the same. */
  question_id: string;
}

/** Sends only events of these types from now on; without `events`, all of them. */
export interface SubscribeCommand {
  type: "subscribe";
  /** Also report which extension a `tool_result` comes from. */
  details?: boolean;
  events?: string[];
  id?: RequestId;
}

/** Returns the slash commands of all extensions. */
export interface GetCommandsCommand { type: "get_commands"; id?: RequestId }

/** Runs a slash command of an extension. */
export interface InvokeCommandCommand {
  type: "invoke_command";
  /** The text after the command's name. */
  args?: string;
  id?: RequestId;
  name: string;
}

/** Reloads all manifests and restarts every extension. */
export interface ReloadExtCommand { type: "reload_ext"; id?: RequestId }

/** A key was pressed in a panel of an extension. */
export interface PanelKeyCommand {
  type: "panel_key";
  extension: string;
  id?: RequestId;
  key: string;
  panel_id: string;
  /** The text that the key produces, if any. */
  text?: string;
}

/** The size of a panel changed. */
export interface PanelResizeCommand { type: "panel_resize"; extension: string; height: number; id?: RequestId; panel_id: string; width: number }

/** The user closed a panel. */
export interface PanelCloseCommand { type: "panel_close"; extension: string; id?: RequestId; panel_id: string }

export interface PingCommand { type: "ping"; id?: RequestId }

/** A command of a client. */
export type Command =
  | HelloCommand
  | PromptCommand
  | AbortCommand
  | CompactCommand
  | GetStateCommand
  | GetMessagesCommand
  | SetMessagesCommand
  | ClearCommand
  | SetModelCommand
  | GetModelsCommand
  | SetReasoningCommand
  | SetToolsCommand
  | SetSandboxCommand
  | SetSystemPromptCommand
  | GetUsageCommand
  | GetToolsCommand
  | GetMcpCommand
  | SteerCommand
  | ConfirmCommand
  | AnswerCommand
  | SubscribeCommand
  | GetCommandsCommand
  | InvokeCommandCommand
  | ReloadExtCommand
  | PanelKeyCommand
  | PanelResizeCommand
  | PanelCloseCommand
  | PingCommand;

/** A slash command of an extension, or a prompt template. */
export interface CommandEntry {
  description: string;
  /** Empty for a template. */
  extension: string;
  /** Without the slash. */
  name: string;
  /** `template` for a template. */
  source?: string;
}

/** `get_commands`. */
export interface CommandsData { commands: CommandEntry[] }

/** `compact` succeeded. */
export interface CompactResponse { type: "response"; command: "compact"; data: StartedData; id?: RequestId; success: true }

/** `confirm` succeeded. */
export interface ConfirmResponse { type: "response"; command: "confirm"; id?: RequestId; success: true }

/** One part of a message. */
export type ContentBlock = { type: "text"; text: string } | { type: "image"; bytes: number; mime_type: string } | { type: "tool_call"; args: AnyJson; id: string; name: string } | { type: "tool_result"; call_id: string; content: ContentBlock[]; is_error: boolean };

/** Tokens and cost since the process started. */
export interface CumulativeUsage { cache_read: number; cache_write: number; cost_usd: number; input: number; output: number }

/** The prompt as it was added to the transcript. */
export interface UserMessageEvent { type: "user_message"; content: ContentBlock[]; time: string }

/** One model call begins; `step` counts from 1 within a prompt. */
export interface TurnStartEvent { type: "turn_start"; step: number }

/** The model accepted the request. */
export interface AssistantStartEvent { type: "assistant_start" }

/** A piece of the answer. */
export interface TextDeltaEvent { type: "text_delta"; delta: string }

/** A piece of the model's thinking; only for clients that name it in `subscribe`. */
export interface ThinkingDeltaEvent { type: "thinking_delta"; delta: string }

/** The request failed and is retried after `wait_ms`; only for clients that name it in `subscribe`. */
export interface RetryEvent {
  type: "retry";
  /** How many attempts have failed. */
  failures: number;
  message: string;
  wait_ms: number;
}

/** The model begins to write a tool call. */
export interface ToolUseStartEvent { type: "tool_use_start"; id: string; name: string }

/** A piece of the call's arguments, as JSON text. */
export interface ToolUseArgsEvent { type: "tool_use_args"; delta: string; id: string }

/** The call's arguments are complete. */
export interface ToolUseEndEvent { type: "tool_use_end"; id: string }

/** Tokens and cost of the model call that just ended, and of everything so far. */
export interface UsageEvent {
  type: "usage";
  cache_read: number;
  cache_write: number;
  cost_usd: number;
  cumulative: CumulativeUsage;
  input: number;
  output: number;
}

/** The assistant's message as it was added to the transcript. */
export interface AssistantMessageEvent { type: "assistant_message"; content: ContentBlock[]; time: string }

/** A call that is about to run. */
export interface ToolCallEvent { type: "tool_call"; args: AnyJson; id: string; name: string }

/** One model call ended. `stop` is `end`, `tool_use`, `length`, `error` or `aborted`. */
export interface TurnEndEvent { type: "turn_end"; error?: string; stop: string }

/** Output of a tool that is still running. */
export interface ToolProgressEvent { type: "tool_progress"; id: string; text: string }

/** A tool finished. */
export interface ToolResultEvent {
  type: "tool_result";
  content: ContentBlock[];
  /** The extension or MCP server of the tool; only for clients that subscribed with `details`. */
  details?: ToolDetails;
  id: string;
  is_error: boolean;
  /** Hosts that the call contacted through the sandbox, or wanted to. */
  network?: NetworkContact[];
}

/** A call waits for a `confirm` command. */
export interface ToolConfirmEvent {
  type: "tool_confirm";
  args: AnyJson;
  /** How to respond: only in the first of these events, and only for a client that has not declared the capability. */
  hint?: string;
  id: string;
  name: string;
  /** What the call would do: the command, or the diff. */
  preview?: string;
}

/** A running tool asks a person; only for clients that have announced that they answer. Answered by an `answer` command, and void after the call's `tool_result`. */
export interface ToolQuestionEvent {
  type: "tool_question";
  /** The call that asks. */
  call_id: string;
  /** Names the question. */
  id: string;
  message: string;
  /** Who asks, for example the name of an MCP server. */
  origin: string;
  /** The form to fill in: a JSON Schema object whose properties are text, numbers, booleans and choices. */
  schema?: AnyJson;
  /** The address to open instead. */
  url?: string;
}

/** A steering message that could not be delivered before the prompt ended. */
export interface SteerDroppedEvent { type: "steer_dropped"; content: ContentBlock[] }

/** A model failed, and another takes over until the prompt ends. */
export interface FallbackEvent {
  type: "fallback";
  code: string;
  /** Provider and model, as `openai/gpt-5`. */
  from: string;
  /** The error, as in `error`. */
  message: string;
  to: string;
}

/** An error; the process continues. */
export interface ErrorEvent {
  type: "error";
  /** Other providers with a credential, if one of them may succeed. */
  alternatives?: string[];
  /** A stable code for the kind of error; absent from older servers. */
  code?: string;
  message: string;
  /** The provider that failed, when one did. */
  provider?: string;
  /** When a retry may succeed. */
  retry_after_ms?: number;
}

/** An extension shows the user a message. */
export interface ExtNotifyEvent {
  type: "ext_notify";
  extension: string;
  /** `info`, `success`, `warn` or `error`; extensions may also send others, or none. */
  level: string;
  message: string;
}

/** An extension's command shows a note, which is not part of the conversation. */
export interface ExtDisplayEvent { type: "ext_display"; extension: string; text: string }

/** An extension opens or redraws a panel. */
export interface ExtPanelEvent { type: "ext_panel"; extension: string; footer?: string; lines?: string[]; panel_id: string; title?: string }

/** An extension closes a panel. */
export interface ExtPanelCloseEvent { type: "ext_panel_close"; extension: string; panel_id: string }

/** The state of an MCP server, or the number of its tools, prompts or resources, has changed. Also sent once for every server at the start. */
export interface McpStateEvent {
  type: "mcp_state";
  /** Why it is restarting or has failed. */
  error?: string;
  name: string;
  /** What was left out of its lists, and why. */
  notes?: string[];
  /** Who configured it: `user`, `project` or `program`. */
  origin: string;
  /** What the server calls itself. */
  product?: string;
  prompts: number;
  /** The revision of MCP that is spoken. */
  protocol_version?: string;
  resources: number;
  /** `disabled`, `starting`, `ready`, `needs_login`, `restarting` or `failed`. */
  state: string;
  /** How many tools, prompts and resources it offers. */
  tools: number;
}

/** A compaction finished. */
export interface CompactDoneEvent { type: "compact_done"; summary: string }

/** The prompt is over, successfully or not. */
export interface DoneEvent { type: "done" }

/** An event. No event has an `id`. */
export type KnownEvent =
  | UserMessageEvent
  | TurnStartEvent
  | AssistantStartEvent
  | TextDeltaEvent
  | ThinkingDeltaEvent
  | RetryEvent
  | ToolUseStartEvent
  | ToolUseArgsEvent
  | ToolUseEndEvent
  | UsageEvent
  | AssistantMessageEvent
  | ToolCallEvent
  | TurnEndEvent
  | ToolProgressEvent
  | ToolResultEvent
  | ToolConfirmEvent
  | ToolQuestionEvent
  | SteerDroppedEvent
  | FallbackEvent
  | ErrorEvent
  | ExtNotifyEvent
  | ExtDisplayEvent
  | ExtPanelEvent
  | ExtPanelCloseEvent
  | McpStateEvent
  | CompactDoneEvent
  | DoneEvent;

/** An extension of the running agent. */
export interface ExtensionEntry {
  commands: string[];
  directory: string;
  /** Why it is not ready. */
  error?: string;
  name: string;
  /** `--ext`, `project` or `global`. */
  source: string;
  /** `starting`, `ready`, `restarting`, `failed` or `stopped`. */
  state: string;
  tools: string[];
  version: string;
}

/** `reload_ext`: the running extensions. */
export interface ExtensionsData { extensions: ExtensionEntry[] }

/** A command failed, or a line is not a command. */
export interface FailureResponse {
  type: "response";
  /** With `error`: a stable code for the kind of error. */
  code?: string;
  /** Unchanged; empty if the line names none. */
  command: string;
  error: string;
  id?: RequestId;
  success: false;
}

/** One part of a message, complete. */
export type FullBlock = { type: "text"; text: string } | {
  type: "image";
  /** The file's bytes in base64. */
  data?: string;
  mime_type: string;
} | {
  type: "reasoning";
  /** Other data the provider requires, as JSON. */
  details?: string;
  encrypted?: string;
  id?: string;
  /** Digest of the conversation before it. Some providers accept the block only after that conversation. */
  prefix?: string;
  provider: string;
  signature?: string;
  text: string;
} | {
  type: "tool_call";
  args?: AnyJson;
  /** The exact text the model wrote. It takes precedence over `args`: the provider's prompt cache only hits when the same bytes are sent again. */
  args_text?: string;
  id: string;
  name: string;
} | { type: "tool_result"; call_id: string; content: FullBlock[]; is_error: boolean };

/** One message, complete. */
export interface FullMessage {
  content: FullBlock[];
  role: Role;
  /** RFC 3339; if omitted, the time of the restore. */
  time?: string;
}

/** `get_messages` with `full`. */
export interface FullMessagesData { messages: FullMessage[] }

/** `get_commands` succeeded. */
export interface GetCommandsResponse { type: "response"; command: "get_commands"; data: CommandsData; id?: RequestId; success: true }

/** `get_mcp` succeeded. */
export interface GetMcpResponse { type: "response"; command: "get_mcp"; data: McpData; id?: RequestId; success: true }

/** `get_messages` succeeded. */
export interface GetMessagesFullResponse { type: "response"; command: "get_messages"; data: FullMessagesData; id?: RequestId; success: true }

/** `get_messages` succeeded. */
export interface GetMessagesResponse { type: "response"; command: "get_messages"; data: MessagesData; id?: RequestId; success: true }

/** `get_models` succeeded. */
export interface GetModelsResponse { type: "response"; command: "get_models"; data: ModelsData; id?: RequestId; success: true }

/** `get_state` succeeded. */
export interface GetStateResponse { type: "response"; command: "get_state"; data: StateData; id?: RequestId; success: true }

/** `get_tools` succeeded. */
export interface GetToolsResponse { type: "response"; command: "get_tools"; data: ToolsData; id?: RequestId; success: true }

/** `get_usage` succeeded. */
export interface GetUsageResponse { type: "response"; command: "get_usage"; data: UsageData; id?: RequestId; success: true }

/** `hello`: information about the server. */
export interface HelloData {
  /** What this server supports beyond the original protocol. */
  capabilities?: string[];
  model: string;
  protocol_version: number;
  provider: string;
  version: string;
}

/** `hello` succeeded. */
export interface HelloResponse { type: "response"; command: "hello"; data: HelloData; id?: RequestId; success: true }

/** An image that comes with a prompt. */
export interface ImageInput {
  /** The file's bytes in base64. */
  data: string;
  mime_type: string;
}

/** `invoke_command` succeeded. */
export interface InvokeCommandResponse { type: "response"; command: "invoke_command"; data: InvokedData; id?: RequestId; success: true }

/** `invoke_command`: the action the extension requests. */
export interface InvokedData {
  /** `prompt`, `insert`, `display`, `open_panel` or `noop`. */
  action: string;
  /** A note to show; also sent as an `ext_display` event. */
  display?: string;
  /** Shown whatever the action is. */
  error?: string;
  /** Empty for a template. */
  extension: string;
  /** Text for the editor. */
  insert?: string;
  /** The panel to open; `ext_panel` events redraw it. */
  open_panel?: PanelSpec;
  /** The prompt that runs now; its events follow. */
  prompt?: string;
  /** `template` for a template. */
  source?: string;
}

/** `get_mcp`: the servers of the agent. */
export interface McpData {
  /** The project's `.mcp.json`, if there is one. */
  project?: McpProject;
  servers: McpServer[];
}

/** The MCP servers that a project brings along. */
export interface McpProject {
  /** The path of `.mcp.json`. */
  path: string;
  /** The names of its servers. */
  servers: string[];
  /** Whether its servers are used. */
  used: boolean;
}

/** An MCP server of the running agent. */
export interface McpServer {
  /** Why it is restarting or has failed. */
  error?: string;
  name: string;
  /** What was left out of its lists, and why. */
  notes?: string[];
  /** Who configured it: `user`, `project` or `program`. */
  origin: string;
  /** What the server calls itself. */
  product?: string;
  prompts: number;
  /** The revision of MCP that is spoken. */
  protocol_version?: string;
  resources: number;
  /** `disabled`, `starting`, `ready`, `needs_login`, `restarting` or `failed`. */
  state: string;
  /** How many tools, prompts and resources it offers. */
  tools: number;
}

/** One message of the transcript. */
export interface Message {
  content: ContentBlock[];
  role: Role;
  /** RFC 3339. */
  time: string;
}

/** `get_messages`: the transcript. */
export interface MessagesData { messages: Message[] }

/** `set_model`: the model now in use. */
export interface ModelData { model: string }

/** A model of the catalog. */
export interface ModelEntry { context_window: number; id: string; max_output: number; provider: string; reasoning: boolean }

/** What one model used. */
export interface ModelUsage { model: string; usage: CumulativeUsage }

/** `get_models`: the models of the provider. */
export interface ModelsData { models: ModelEntry[] }

/** A host that a command in a sandbox contacted, or wanted to. */
export interface NetworkContact {
  /** Whether the sandbox let it through. */
  allowed: boolean;
  host: string;
  port: number;
}

/** `panel_close` succeeded. */
export interface PanelCloseResponse { type: "response"; command: "panel_close"; id?: RequestId; success: true }

/** `panel_key` succeeded. */
export interface PanelKeyResponse { type: "response"; command: "panel_key"; id?: RequestId; success: true }

/** `panel_resize` succeeded. */
export interface PanelResizeResponse { type: "response"; command: "panel_resize"; id?: RequestId; success: true }

/** A panel to open. */
export interface PanelSpec { footer?: string; id: string; lines?: string[]; title?: string }

/** `ping` succeeded. */
export interface PingResponse { type: "response"; command: "ping"; data: PongData; id?: RequestId; success: true }

/** `ping`. */
export interface PongData { pong: boolean }

/** `prompt` succeeded. */
export interface PromptResponse { type: "response"; command: "prompt"; data: StartedData; id?: RequestId; success: true }

/** `prompt` succeeded. */
export interface PromptSteeredResponse { type: "response"; command: "prompt"; data: SteeredData; id?: RequestId; success: true }

/** `set_reasoning`: the effort now in use. */
export interface ReasoningData { effort: string | null }

/** `reload_ext` succeeded. */
export interface ReloadExtResponse { type: "response"; command: "reload_ext"; data: ExtensionsData; id?: RequestId; success: true }

/** What else a confirmation is valid for. */
export type RememberFor = "call" | "tool" | "session";

/** The repairs that make a transcript acceptable to providers. */
export interface RepairReport {
  /** Messages dropped because nothing was left in them. */
  messages_dropped: number;
  /** Calls that got an error result because they had none. */
  results_added: number;
  /** Results dropped because they belong to no call. */
  results_dropped: number;
}

/** Chosen by the client; the response repeats it as it came, and has none if the command had none. */
export type RequestId = string | number;

/** The response to one command. */
export type Response = AbortResponse | AnswerResponse | ClearResponse | CompactResponse | ConfirmResponse | FailureResponse | GetCommandsResponse | GetMcpResponse | GetMessagesFullResponse | GetMessagesResponse | GetModelsResponse | GetStateResponse | GetToolsResponse | GetUsageResponse | HelloResponse | InvokeCommandResponse | PanelCloseResponse | PanelKeyResponse | PanelResizeResponse | PingResponse | PromptResponse | PromptSteeredResponse | ReloadExtResponse | SetMessagesResponse | SetModelResponse | SetReasoningResponse | SetSandboxResponse | SetSystemPromptResponse | SetToolsResponse | SteerResponse | SubscribeResponse;

/** Who a message comes from. */
export type Role = "user" | "assistant" | "tool";

/** `set_sandbox`, and `sandbox` of `get_state`: what the built-in tools may do. */
export interface SandboxData {
  /** What this system does not enforce, and rules without effect; one sentence each. */
  caveats?: string[];
  connect?: string[];
  environment?: string[];
  level: SandboxLevel;
  memory_mib?: number;
  open_files?: number;
  processes?: number;
  processor_seconds?: number;
  read?: string[];
  /** The only programs that can be started; left out if it is every program. */
  run?: string[];
  unix_sockets?: string[];
  write?: string[];
}

/** How much the built-in tools may do. Later ones are stricter. */
export type SandboxLevel = "off" | "workspace" | "read-only";

/** The session of a conversation. */
export interface SessionData {
  id: string;
  /** Absolute. The file is created with the first message. */
  path: string;
}

/** `set_messages`: the number of messages, and what was repaired. */
export interface SetMessagesData { message_count: number; repaired: RepairReport }

/** `set_messages` succeeded. */
export interface SetMessagesResponse { type: "response"; command: "set_messages"; data: SetMessagesData; id?: RequestId; success: true }

/** `set_model` succeeded. */
export interface SetModelResponse { type: "response"; command: "set_model"; data: ModelData; id?: RequestId; success: true }

/** `set_reasoning` succeeded. */
export interface SetReasoningResponse { type: "response"; command: "set_reasoning"; data: ReasoningData; id?: RequestId; success: true }

/** `set_sandbox` succeeded. */
export interface SetSandboxResponse { type: "response"; command: "set_sandbox"; data: SandboxData; id?: RequestId; success: true }

/** `set_system_prompt` succeeded. */
export interface SetSystemPromptResponse { type: "response"; command: "set_system_prompt"; id?: RequestId; success: true }

/** `set_tools` succeeded. */
export interface SetToolsResponse { type: "response"; command: "set_tools"; data: ToolsData; id?: RequestId; success: true }

/** `prompt` and `compact`: the work has started. */
export interface StartedData { started: boolean }

/** `get_state`: a snapshot of the runtime. */
export interface StateData {
  busy: boolean;
  cwd: string;
  /** Whether the built-in tools are confined to `cwd` (`--jail`); left out when not. */
  jailed?: boolean;
  message_count: number;
  model: string;
  provider: string;
  /** What the built-in tools may do; left out when it is everything that the user may do. */
  sandbox?: SandboxData;
  /** The session file of the conversation, if there is one. */
  session?: SessionData;
  usage: CumulativeUsage;
}

/** `steer` succeeded. */
export interface SteerResponse { type: "response"; command: "steer"; data: SteeredData; id?: RequestId; success: true }

/** `steer`, and a `prompt` that was delivered as one. */
export interface SteeredData { steered: boolean }

/** `subscribe` succeeded. */
export interface SubscribeResponse { type: "response"; command: "subscribe"; data: SubscribedData; id?: RequestId; success: true }

/** `subscribe`: the types of events that are sent. */
export interface SubscribedData { events: string[] }

/** Who ran a tool: an extension or an MCP server. */
export interface ToolDetails {
  extension?: string;
  /** The MCP server. */
  server?: string;
  /** The tool, by the name that the extension or the server uses. */
  tool: string;
}

/** A tool. */
export interface ToolEntry {
  /** Whether the model has to find it with `tool_search` before it is declared. */
  deferred?: boolean;
  description: string;
  /** Whether the model has it. */
  enabled: boolean;
  /** The extension it belongs to, if any. */
  extension?: string;
  name: string;
  /** Its arguments, as a JSON Schema. */
  parameters: AnyJson;
  /** The MCP server it belongs to, if any. */
  server?: string;
}

/** `set_tools` and `get_tools`. */
export interface ToolsData { tools: ToolEntry[] }

/** What one model call used. */
export interface TurnUsage {
  model: string;
  /** RFC 3339. */
  time: string;
  usage: CumulativeUsage;
}

/** `get_usage`: the usage so far. */
export interface UsageData {
  models: ModelUsage[];
  total: CumulativeUsage;
  /** The latest model calls, oldest first. */
  turns: TurnUsage[];
}

/** What happens to a prompt that arrives while another is running. */
export type WhenBusy = "queue" | "steer" | "reject";

/** What a successful response to a command carries. */
export interface ResponseData {
  abort: undefined;
  answer: undefined;
  clear: undefined;
  compact: StartedData;
  confirm: undefined;
  get_commands: CommandsData;
  get_mcp: McpData;
  get_messages: FullMessagesData | MessagesData;
  get_models: ModelsData;
  get_state: StateData;
  get_tools: ToolsData;
  get_usage: UsageData;
  hello: HelloData;
  invoke_command: InvokedData;
  panel_close: undefined;
  panel_key: undefined;
  panel_resize: undefined;
  ping: PongData;
  prompt: StartedData | SteeredData;
  reload_ext: ExtensionsData;
  set_messages: SetMessagesData;
  set_model: ModelData;
  set_reasoning: ReasoningData;
  set_sandbox: SandboxData;
  set_system_prompt: undefined;
  set_tools: ToolsData;
  steer: SteeredData;
  subscribe: SubscribedData;
}

declare enum NotInTheSchema {
  type = "",
}

/**
 * An event that is newer than this package, as it came. Its `type` is a string like any other; the
 * odd declaration keeps it apart from the known ones, so that `event.type === "done"` tells which it is.
 */
export interface UnknownEvent {
  type: NotInTheSchema;
  readonly [field: string]: unknown;
}

export type Event = KnownEvent | UnknownEvent;

// Without it, everything above counts as exported.
export {};
