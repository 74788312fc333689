# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#
# probekit_add_module(TARGET NAME SOURCES FILE... [HEADERS FILE...]
#                     [OUTPUT_DIRECTORY DIR])
#
# Builds NAME.ko in DIR (the current binary directory) with kbuild, as TARGET. The
# sources (Kbuild among them) are staged first, beside include/probekit/ with
# the HEADERS: the tree that a package for another kernel gets, so a file
# missing from the lists fails here first.
#
# Without BTF a module loads without a word and has no struct_ops types and no
# kfuncs, so that fails the build.

function(_probekit_stage_file from to list)
  add_custom_command(OUTPUT "${to}"
    COMMAND ${CMAKE_COMMAND} -E copy "${from}" "${to}"
    DEPENDS "${from}" VERBATIM)
  set(${list} ${${list}} "${to}" PARENT_SCOPE)
endfunction()

function(probekit_add_module target name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "OUTPUT_DIRECTORY" "SOURCES;HEADERS")
  if(NOT arg_OUTPUT_DIRECTORY)
    set(arg_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  endif()
  file(MAKE_DIRECTORY "${arg_OUTPUT_DIRECTORY}")
  set(stage "${CMAKE_CURRENT_BINARY_DIR}/stage-${name}")
  set(source "${stage}/kmod")
  set(module "${arg_OUTPUT_DIRECTORY}/${name}.ko")
  set(staged "")
  foreach(file IN LISTS arg_SOURCES)
    _probekit_stage_file("${CMAKE_CURRENT_SOURCE_DIR}/${file}" "${source}/${file}" staged)
  endforeach()
  foreach(file IN LISTS arg_HEADERS)
    _probekit_stage_file("${PROJECT_SOURCE_DIR}/include/probekit/${file}"
                         "${stage}/include/probekit/${file}" staged)
  endforeach()
  set(no_btf "${name}.ko has no BTF: install pahole (package dwarves) and a vmlinux in ${PROBEKIT_KERNEL_DIR}")
  add_custom_command(OUTPUT "${module}"
    COMMAND ${CMAKE_COMMAND} -E env --unset=MAKEFLAGS --unset=MFLAGS
            make -s -C "${PROBEKIT_KERNEL_DIR}" "M=${source}" modules
    COMMAND sh -c "readelf -S '${source}/${name}.ko' | grep -q '[.]BTF' || { echo '${no_btf}' >&2; exit 1; }"
    # What is installed needs no debug information: BTF is what counts.
    COMMAND strip --strip-debug -o "${module}" "${source}/${name}.ko"
    DEPENDS ${staged} COMMENT "Building ${name}.ko" VERBATIM)
  add_custom_target(${target} ALL DEPENDS "${module}")
endfunction()
