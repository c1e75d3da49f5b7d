export const END = '</think>';
export const START = '<think>';
// all before </think> is thinking
