/** The door of src/model: what others may use. */
export { createAnthropicModel } from './anthropic/client.js';
