// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>

#include "own_map.h"

bool own_map(const void *address, struct lwpdata_map *map, char path[4096])
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[5000];
	bool found = false;

	while (maps && !found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %4095s",
			       &map->start, &map->end, &map->offset, path) == 4 &&
			(uintptr_t)address >= map->start && (uintptr_t)address < map->end;
	if (maps)
		fclose(maps);
	return found;
}
