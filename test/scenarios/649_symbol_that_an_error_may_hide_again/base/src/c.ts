export const a = 1;
function a( {
