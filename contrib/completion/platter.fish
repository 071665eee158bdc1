# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion of platter. It holds no list: the program is asked (platter --complete WORD...).
function __platter_complete
	set -l words (commandline -opc)
	set -l current (commandline -ct)
	set -l program $words[1]
	set -e words[1]
	# Of --json=on the shell completes what stands behind the sign.
	set -l kept (string match -r -- '^--[^=]*=' $current)
	set -l rest (string replace -r -- '^--[^=]*=' '' $current)
	for line in ($program --complete $words "$current" 2>/dev/null)
		switch $line
			case ':files*'
				for path in (__fish_complete_path "$rest")
					echo -- "$kept$path"
				end
			case ':dirs*'
				for path in (__fish_complete_directories "$rest")
					echo -- "$kept$path"
				end
			case '*'
				echo -- $line
		end
	end
end
complete -c platter -f -a '(__platter_complete)'
