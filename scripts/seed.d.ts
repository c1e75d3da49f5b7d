export const SHARES: number;
export function drawSeed(): string;
export function shareOf(seed: string): number;
export function readShare(text: string): { readonly number: number; readonly of: number } | null;
