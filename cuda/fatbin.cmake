# How kernel files become images inside a program.
#
# glint_find_cuda(): finds nvcc and cuda.h; sets GLINT_NVCC, GLINT_CUDA_INCLUDE, GLINT_CUDA_CODE (the
# cards to compile for, as options of nvcc) and GLINT_CUDA_PLAIN_CODE (of them, one for the tests of
# what older cards run). Without a toolkit GLINT_CUDA_CODE is empty.
# glint_kernel_images(TARGET SET NAMES name ... OPTIONS option ...): a library with the images of
# kernels/NAME.cu and the table SETImages() (kernel_images.h).

set(GLINT_CUDA_ARCHITECTURES "75;80;86;89;90;120" CACHE STRING
    "Cards to compile kernels for, by compute capability; code for later cards comes of the last")

function(glint_find_cuda)
    find_program(GLINT_NVCC nvcc PATHS /usr/local/cuda/bin)
    if(NOT GLINT_NVCC)
        return()
    endif()
    get_filename_component(real ${GLINT_NVCC} REALPATH)
    get_filename_component(toolkit ${real}/../.. ABSOLUTE)
    find_path(GLINT_CUDA_INCLUDE cuda.h HINTS ${toolkit}/include
        ${toolkit}/targets/${CMAKE_SYSTEM_PROCESSOR}-linux/include)
    if(NOT GLINT_CUDA_INCLUDE)
        return()
    endif()
    execute_process(COMMAND ${GLINT_NVCC} --list-gpu-arch OUTPUT_VARIABLE known)
    set(cards)
    set(left)
    foreach(card ${GLINT_CUDA_ARCHITECTURES})
        if(known MATCHES "compute_${card}[\r\n]")
            list(APPEND cards ${card})
        else()
            list(APPEND left ${card})
        endif()
    endforeach()
    if(left)
        message(STATUS "${GLINT_NVCC} does not know compute capability ${left}: left out")
    endif()
    if(NOT cards)
        message(FATAL_ERROR "GLINT_CUDA_ARCHITECTURES names no card that ${GLINT_NVCC} knows")
    endif()
    set(code)
    foreach(card ${cards})
        list(APPEND code -gencode=arch=compute_${card},code=sm_${card})
    endforeach()
    # Tests of what the oldest card runs, on whatever card is there.
    set(plain)
    foreach(card ${cards})
        if(card EQUAL 90)
            set(plain -gencode=arch=compute_90,code=sm_90)
        endif()
    endforeach()
    list(GET cards -1 newest)
    if(NOT plain)
        set(plain -gencode=arch=compute_${newest},code=compute_${newest})
    endif()
    set(GLINT_CUDA_PLAIN_CODE ${plain} PARENT_SCOPE)
    list(APPEND code -gencode=arch=compute_${newest},code=compute_${newest})
    set(GLINT_CUDA_CODE ${code} PARENT_SCOPE)
    message(STATUS "Kernels for graphics cards: ${cards}, with ${GLINT_NVCC}")
endfunction()

function(glint_kernel_images target set)
    cmake_parse_arguments(ARG "" "" "NAMES;OPTIONS" ${ARGN})
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/${set})
    set(kernels ${CMAKE_SOURCE_DIR}/cuda/kernels)
    set(files)
    set(list)
    set(names)
    set(resources)
    foreach(name ${ARG_NAMES})
        set(file ${folder}/${name}.fatbin)
        # --fmad=false: a multiply-add is written where it is meant, as everywhere in Glint.
        add_custom_command(OUTPUT ${file}
            COMMAND ${GLINT_NVCC} -fatbin -O3 -std=c++17 --fmad=false -I${CMAKE_SOURCE_DIR}
                ${ARG_OPTIONS} -MD -MF ${file}.d -MT ${file} -o ${file} ${kernels}/${name}.cu
            DEPENDS ${kernels}/${name}.cu
            DEPFILE ${file}.d
            COMMENT "Compiling kernels ${set}/${name}"
            VERBATIM COMMAND_EXPAND_LISTS)
        list(APPEND files ${file})
        string(APPEND list "glint_image ${set}_${name}, \"${file}\"\n")
        string(APPEND names "GLINT_IMAGE(${name})\n")
        string(APPEND resources "${set}_${name} RCDATA \"${file}\"\n")
    endforeach()
    file(CONFIGURE OUTPUT ${folder}/names.inc CONTENT "${names}")
    add_library(${target} STATIC ${CMAKE_SOURCE_DIR}/cuda/image_table.cpp)
    target_link_libraries(${target} PRIVATE glint_options)
    target_compile_definitions(${target} PRIVATE GLINT_IMAGE_SET=${set}
        GLINT_IMAGE_TABLE=${set}Images GLINT_IMAGE_NAMES="${folder}/names.inc")
    if(MSVC)
        # A resource reaches a program only as one of its own sources.
        file(CONFIGURE OUTPUT ${folder}/images.rc CONTENT "${resources}")
        set_source_files_properties(${folder}/images.rc PROPERTIES OBJECT_DEPENDS "${files}")
        add_custom_target(${target}_files DEPENDS ${files})
        add_dependencies(${target} ${target}_files)
        target_sources(${target} INTERFACE ${folder}/images.rc)
    else()
        file(CONFIGURE OUTPUT ${folder}/images.inc CONTENT "${list}")
        # One file for each set, because what it includes differs.
        file(CONFIGURE OUTPUT ${folder}/images.S CONTENT
            "#define GLINT_IMAGE_LIST \"${folder}/images.inc\"\n#include \"cuda/image.S\"\n")
        set_source_files_properties(${folder}/images.S PROPERTIES LANGUAGE ASM
            OBJECT_DEPENDS "${files};${folder}/images.inc;${CMAKE_SOURCE_DIR}/cuda/image.S"
            COMPILE_OPTIONS "-I${CMAKE_SOURCE_DIR}")
        target_sources(${target} PRIVATE ${folder}/images.S)
    endif()
endfunction()
