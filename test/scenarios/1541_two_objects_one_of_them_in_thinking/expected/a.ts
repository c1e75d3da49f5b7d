export const limit = 20; // <think>
