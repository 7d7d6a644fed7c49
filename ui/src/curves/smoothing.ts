// Exponential moving average as in TensorBoard: freed of its bias towards the start, and passing over what is not finite.

/** `weight` from 0 (as it is) to below 1; the result has NaN where `values` has nothing finite. */
export function smoothed(values: readonly number[], weight: number): number[] {
  if (weight <= 0) return values.slice();
  const kept = Math.min(weight, 0.9999);
  let sum = 0;
  let power = 1;
  return values.map((value) => {
    if (!Number.isFinite(value)) return NaN;
    sum = sum * kept + (1 - kept) * value;
    power *= kept;
    return sum / (1 - power);
  });
}

/** From a slider of 0..100 to a weight: its upper half is where the eye sees a difference. */
export function weightOfSlider(position: number): number {
  const x = Math.min(Math.max(position, 0), 100) / 100;
  return x === 0 ? 0 : 1 - Math.pow(10, -3 * x);
}
