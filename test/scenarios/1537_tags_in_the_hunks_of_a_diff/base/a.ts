export const END = '</think>';
export const START = '<think>';
