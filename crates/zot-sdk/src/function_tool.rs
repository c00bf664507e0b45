//! Tools from functions and types of the embedding program.

#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use zot_conversation::{BoxFuture, Tool, ToolDefinition, ToolEffect, ToolInvocation, ToolOutput};
use zot_wire::arguments;

/// How many pieces of progress are buffered before the function waits.
const PROGRESS_QUEUE: usize = 16;

/// A tool cannot be offered to a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTool {
    /// The type of the arguments is not an object.
    #[error(
        "tool {tool:?}: the arguments must be a struct (or an enum of structs), because models call tools with objects"
    )]
    ArgumentsNotAnObject {
        /// The name of the tool.
        tool: String,
    },
    /// The name is not accepted by every provider.
    #[error("tool {tool:?}: a name has 1 to 64 letters, digits, `_` and `-`")]
    Name {
        /// The name of the tool.
        tool: String,
    },
    /// The given schema is not an object.
    #[error("tool {tool:?}: the schema is not a JSON object")]
    Schema {
        /// The name of the tool.
        tool: String,
    },
}

/// A tool that calls a function.
///
/// The schema that the model sees is derived from the type of the argument, with its doc comments as
/// descriptions.
/// Arguments that do not match are refused before the function runs, with an error that names the
/// field. When the call is cancelled, the function's future is dropped; a tool that has to clean up
/// implements [`Tool`] itself.
///
/// ```
/// use zot_sdk::FunctionTool;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct City {
///     /// Which city
///     city: String,
/// }
///
/// let weather = FunctionTool::new("weather", "Current weather for a city.", |args: City| async move {
///     format!("{}: sunny", args.city)
/// })?
/// .read_only();
/// # Ok::<(), zot_sdk::InvalidTool>(())
/// ```
pub struct FunctionTool {
    definition: Arc<ToolDefinition>,
    function: Function,
    preview: Option<Preview>,
}

type Function =
    Box<dyn Fn(&str, ToolContext) -> Result<BoxFuture<'static, ToolOutput>, String> + Send + Sync>;
type Preview = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What a function can use while it runs.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The id of the call, as in the events.
    pub call_id: String,
    progress: mpsc::Sender<String>,
}

impl ToolContext {
    /// Shows a piece of output while the tool runs (`tool_progress`). Waits while the reader is behind.
    pub async fn report(&self, text: impl Into<String>) {
        // Fails once the call is over.
        let _ = self.progress.send(text.into()).await;
    }
}

/// A tool that is a type: its fields are its state, its [`Arguments`](Self::Arguments) come from the
/// model.
pub trait TypedTool: Send + Sync + 'static {
    /// The name of the tool.
    const NAME: &'static str;
    /// The description for the model.
    const DESCRIPTION: &'static str;
    /// Whether neighbouring calls may run in parallel.
    const READ_ONLY: bool = false;

    /// The arguments of a call.
    type Arguments: DeserializeOwned + JsonSchema + Send;
    /// The result of a call.
    type Output: IntoToolOutput;

    /// Runs the tool.
    fn run(
        &self,
        arguments: Self::Arguments,
        context: ToolContext,
    ) -> impl Future<Output = Self::Output> + Send;
}

impl FunctionTool {
    /// Creates a tool that calls `function`.
    pub fn new<A, F, O>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: impl Fn(A) -> F + Send + Sync + 'static,
    ) -> Result<Self, InvalidTool>
    where
        A: DeserializeOwned + JsonSchema,
        F: Future<Output = O> + Send + 'static,
        O: IntoToolOutput,
    {
        Self::with_context(name, description, move |arguments, _| function(arguments))
    }

    /// Like [`new`](Self::new), for functions that report progress.
    pub fn with_context<A, F, O>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: impl Fn(A, ToolContext) -> F + Send + Sync + 'static,
    ) -> Result<Self, InvalidTool>
    where
        A: DeserializeOwned + JsonSchema,
        F: Future<Output = O> + Send + 'static,
        O: IntoToolOutput,
    {
        let name = name.into();
        let Some(schema) = arguments::schema_of::<A>() else {
            return Err(InvalidTool::ArgumentsNotAnObject { tool: name });
        };
        Self::with_schema(name, description, schema, function)
    }

    /// Like [`with_context`](Self::with_context), with a given schema; the arguments may then be a
    /// [`Value`].
    pub fn with_schema<A, F, O>(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        function: impl Fn(A, ToolContext) -> F + Send + Sync + 'static,
    ) -> Result<Self, InvalidTool>
    where
        A: DeserializeOwned,
        F: Future<Output = O> + Send + 'static,
        O: IntoToolOutput,
    {
        let definition = definition(name.into(), description.into(), &schema)?;
        let function: Function = Box::new(move |text, context| {
            let running = function(arguments::decode(text)?, context);
            Ok(Box::pin(async move { running.await.into_tool_output() }))
        });
        Ok(Self {
            definition: Arc::new(definition),
            function,
            preview: None,
        })
    }

    /// Creates a tool from a type.
    pub fn from_type<T: TypedTool>(tool: T) -> Result<Self, InvalidTool> {
        let tool = Arc::new(tool);
        let made = Self::with_context(T::NAME, T::DESCRIPTION, move |arguments, context| {
            let tool = Arc::clone(&tool);
            async move { tool.run(arguments, context).await }
        })?;
        Ok(if T::READ_ONLY { made.read_only() } else { made })
    }

    /// Declares that the tool changes nothing, so that neighbouring calls run in parallel.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        Arc::make_mut(&mut self.definition).effect = ToolEffect::ReadOnly;
        self
    }

    /// Sets the preview that a confirmation request shows.
    #[must_use]
    pub fn preview<A: DeserializeOwned>(
        mut self,
        preview: impl Fn(A) -> String + Send + Sync + 'static,
    ) -> Self {
        self.preview = Some(Box::new(move |text| {
            arguments::decode(text).ok().map(&preview)
        }));
        self
    }
}

impl Tool for FunctionTool {
    fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> {
        let (progress, mut pieces) = mpsc::channel(PROGRESS_QUEUE);
        let context = ToolContext {
            call_id: invocation.id.to_string(),
            progress,
        };
        Box::pin(async move {
            let mut running = match (self.function)(invocation.arguments.get(), context) {
                Ok(running) => running,
                Err(error) => return ToolOutput::error(error),
            };
            let output = loop {
                tokio::select! {
                    biased;
                    () = invocation.cancel.cancelled() => {
                        return ToolOutput::error("cancelled");
                    }
                    Some(piece) = pieces.recv() => invocation.progress.report(piece).await,
                    output = &mut running => break output,
                }
            };
            // Progress is reported before the result.
            while let Ok(piece) = pieces.try_recv() {
                invocation.progress.report(piece).await;
            }
            output
        })
    }

    fn preview(&self, arguments: &RawValue) -> Option<String> {
        self.preview.as_ref()?(arguments.get())
    }
}

fn definition(
    name: String,
    description: String,
    schema: &Value,
) -> Result<ToolDefinition, InvalidTool> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    // The names that every provider accepts.
    if name.is_empty() || name.len() > 64 || !name.bytes().all(is_plain) {
        return Err(InvalidTool::Name { tool: name });
    }
    let parameters = match schema.is_object() {
        true => RawValue::from_string(schema.to_string()).ok(),
        false => None,
    };
    match parameters {
        Some(parameters) => Ok(ToolDefinition {
            name,
            description,
            parameters,
            effect: ToolEffect::Changes,
        }),
        None => Err(InvalidTool::Schema { tool: name }),
    }
}

/// The result types of tool functions: text, JSON, a [`ToolOutput`], or a `Result` of one of them, whose
/// error the model reads.
pub trait IntoToolOutput {
    /// Converts the value to the output of the tool.
    fn into_tool_output(self) -> ToolOutput;
}

impl IntoToolOutput for ToolOutput {
    fn into_tool_output(self) -> ToolOutput {
        self
    }
}

impl IntoToolOutput for String {
    fn into_tool_output(self) -> ToolOutput {
        ToolOutput::text(self)
    }
}

impl IntoToolOutput for &str {
    fn into_tool_output(self) -> ToolOutput {
        ToolOutput::text(self)
    }
}

impl IntoToolOutput for Value {
    fn into_tool_output(self) -> ToolOutput {
        ToolOutput::text(self.to_string())
    }
}

impl<T: IntoToolOutput, E: Display> IntoToolOutput for Result<T, E> {
    fn into_tool_output(self) -> ToolOutput {
        match self {
            Ok(output) => output.into_tool_output(),
            Err(error) => ToolOutput::error(error.to_string()),
        }
    }
}
