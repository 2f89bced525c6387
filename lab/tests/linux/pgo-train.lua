-- SPDX-License-Identifier: GPL-2.0-or-later
-- What Lua is trained and measured with: calls, tables, strings, methods.
local n = tonumber(arg[1]) or 1
local function fib(k) if k < 2 then return k end return fib(k - 1) + fib(k - 2) end
local function sieve(max)
  local is, count = {}, 0
  for i = 2, max do is[i] = true end
  for i = 2, max do
    if is[i] then count = count + 1; for k = i * i, max, i do is[k] = false end end
  end
  return count
end
local function words(times)
  local seen, text = {}, {}
  for i = 1, times do text[#text + 1] = "w" .. (i * 7919 % 503) end
  for word in table.concat(text, " "):gmatch("%a%d+") do seen[word] = (seen[word] or 0) + 1 end
  local list = {}
  for word, number in pairs(seen) do list[#list + 1] = { word, number } end
  table.sort(list, function(a, b) return a[2] > b[2] or (a[2] == b[2] and a[1] < b[1]) end)
  return list[1][1]
end
local Point = {}
Point.__index = Point
function Point:add(o) return setmetatable({ x = self.x + o.x, y = self.y * 0.5 + o.y }, Point) end
local function points(times)
  local p = setmetatable({ x = 0, y = 0 }, Point)
  for i = 1, times do p = p:add({ x = i, y = i }) end
  return p.x
end
for i = 1, n do print(fib(20), sieve(20000), words(3000), points(10000)) end
