export const LONG_ONLY: readonly string[];
export function testFiles(): readonly string[];
export function filesOfTest(): readonly string[];
export function filesOfLong(): readonly string[];
