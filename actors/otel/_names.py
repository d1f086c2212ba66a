"""What spans and their attributes are called.

The names beginning with ``gen_ai.`` follow OpenTelemetry's semantic conventions for
generative AI, as of version 1.41: https://opentelemetry.io/docs/specs/semconv/gen-ai/.
They are "in development" there and have moved before, so nothing else spells them.
"""

from typing import Final

OPERATION: Final = "gen_ai.operation.name"
INVOKE_AGENT: Final = "invoke_agent"
INVOKE_WORKFLOW: Final = "invoke_workflow"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"

AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_DESCRIPTION: Final = "gen_ai.agent.description"
WORKFLOW_NAME: Final = "gen_ai.workflow.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"

PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"

TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_FUNCTION: Final = "function"
TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"

ERROR_TYPE: Final = "error.type"
ERROR_OTHER: Final = "_OTHER"
"""What failed without an exception."""
ERROR_CANCELLED: Final = "cancelled"

# Ours: what the conventions have no word for.
COST: Final = "callboard.usage.cost"
OUTCOME: Final = "callboard.tool.outcome"
STOPPED: Final = "callboard.run.stopped"
CANCELLED: Final = "callboard.cancelled"
CANCEL_REASON: Final = "callboard.cancel.reason"

PROVIDERS: Final = {"google": "gcp.gemini"}
"""Providers whose word in the conventions is another than in a model's name."""
