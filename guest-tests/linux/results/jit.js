// SPDX-License-Identifier: GPL-2.0-or-later
// Calls, a map of strings, and numbers of three kinds.
const fib = (n) => n < 2 ? n : fib(n - 1) + fib(n - 2);
const map = new Map();
for (let i = 0; i < 25000; i++) {
  const key = 'k' + i % 997;
  map.set(key, (map.get(key) || 0) + i);
}
let hash = 0, sum = 0, big = 1n;
for (const [key, value] of map)
  for (const c of key + value)
    hash = Math.imul(hash, 31) + c.charCodeAt(0) | 0;
for (let i = 1; i < 100000; i++)
  sum += i % 3 ? 1 / i : -i / 7;
for (let i = 1n; i < 200n; i++)
  big *= i;
console.log(fib(20), hash, sum, big % 1000000007n);
